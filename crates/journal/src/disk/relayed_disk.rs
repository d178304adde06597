//! A disk whose journals are also sent to another process, which reports when they are durable.
//!
//! Journals are written to the local disk, for everything that reads them by path, and sent over a
//! socket to a relay: a worker of the fleet, which writes them to the store that all hosts share. A
//! sync waits for the relay. A record that the relay rejects is never acknowledged, so nothing that
//! depends on it is performed.
//!
//! Requests and answers are lines of JSON; the bytes of `append` follow their line. One connection
//! serves all journals of a session, nested ones included; files are named relative to one folder.

use std::fs::TryLockError;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{DiskFile, DiskOpenMode, JournalDisk, JournalFileChange, RealDisk};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum RelayRequest {
    /// Return the file's length in the store.
    Open { file: String },
    /// Append these bytes at this position, which must be the end of the file. The bytes follow the
    /// line.
    Append { file: String, position: u64, bytes: u64 },
    /// Truncate the file.
    Cut { file: String, length: u64 },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayReply {
    /// The length of the file in the store.
    #[serde(default)]
    pub length: u64,
    /// Why the request was rejected. Nothing was stored then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The first line on a connection that carries journals.
pub const RELAY_GREETING: &str = "journal 1\n";

/// The disk of this machine, with a relay.
#[derive(Debug)]
pub struct RelayedDisk {
    root: PathBuf,
    connection: Arc<Mutex<RelayConnection>>,
}

impl RelayedDisk {
    /// Connects to the relay at this socket. Files are named relative to this folder.
    ///
    /// # Errors
    ///
    /// No relay listens there.
    pub fn connect(socket: &Path, root: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(RELAY_TIMEOUT))?;
        stream.set_write_timeout(Some(RELAY_TIMEOUT))?;
        stream.write_all(RELAY_GREETING.as_bytes())?;
        let connection = RelayConnection { stream: BufReader::new(stream), is_lost: false };
        Ok(Self { root: root.to_owned(), connection: Arc::new(Mutex::new(connection)) })
    }

    fn relative_name(&self, path: &Path) -> io::Result<String> {
        let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        name.map(str::to_owned).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "the journal lies outside the relayed folder",
            )
        })
    }
}

impl JournalDisk for RelayedDisk {
    fn open(&self, path: &Path, access: DiskOpenMode) -> io::Result<Box<dyn DiskFile>> {
        let local = RealDisk.open(path, access)?;
        if access == DiskOpenMode::Read {
            return Ok(local);
        }
        let file = self.relative_name(path)?;
        let open = RelayRequest::Open { file: file.clone() };
        let length = lock(&self.connection).ask(&open, &[])?;
        // Bytes written without the relay, such as a file created by a rewind, are sent too.
        let mut missing = Vec::new();
        let mut whole = std::fs::File::open(path)?;
        io::Seek::seek(&mut whole, io::SeekFrom::Start(length))?;
        whole.take(PENDING_BYTES_MAX).read_to_end(&mut missing)?;
        Ok(Box::new(RelayedFile {
            local,
            file,
            shared: Arc::new(RelayedFileState {
                sync: Mutex::new(length),
                pending: Mutex::new(missing),
            }),
            connection: Arc::clone(&self.connection),
        }))
    }

    fn exists(&self, path: &Path) -> bool {
        RealDisk.exists(path)
    }

    fn sync_directory_of(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
}

#[derive(Debug)]
struct RelayedFile {
    local: Box<dyn DiskFile>,
    file: String,
    shared: Arc<RelayedFileState>,
    connection: Arc<Mutex<RelayConnection>>,
}

#[derive(Debug)]
struct RelayedFileState {
    /// The length in the store. Locked while waiting for the relay.
    sync: Mutex<u64>,
    /// Bytes that are not in the store yet. Never locked while waiting for the relay, so that the
    /// session can continue to write.
    pending: Mutex<Vec<u8>>,
}

impl Read for RelayedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.local.read(buffer)
    }
}

impl DiskFile for RelayedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut pending = lock(&self.shared.pending);
        let total = u64::try_from(pending.len() + bytes.len()).unwrap_or(u64::MAX);
        if total > PENDING_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "too much waits for the relay"));
        }
        self.local.append(bytes)?;
        pending.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut position = lock(&self.shared.sync);
        let bytes = core::mem::take(&mut *lock(&self.shared.pending));
        if bytes.is_empty() {
            return Ok(());
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let append =
            RelayRequest::Append { file: self.file.clone(), position: *position, bytes: length };
        *position = lock(&self.connection).ask(&append, &bytes)?;
        Ok(())
    }

    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self {
            local: self.local.try_clone()?,
            file: self.file.clone(),
            shared: Arc::clone(&self.shared),
            connection: Arc::clone(&self.connection),
        }))
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        let mut position = lock(&self.shared.sync);
        let mut pending = lock(&self.shared.pending);
        self.local.set_len(length)?;
        match length.checked_sub(*position) {
            Some(kept) => pending.truncate(usize::try_from(kept).unwrap_or(usize::MAX)),
            None => {
                pending.clear();
                let cut = RelayRequest::Cut { file: self.file.clone(), length };
                *position = lock(&self.connection).ask(&cut, &[])?;
            }
        }
        Ok(())
    }

    fn check_in_place(&self, path: &Path, length: Option<u64>) -> Result<(), JournalFileChange> {
        self.local.check_in_place(path, length)
    }

    fn try_lock(&mut self) -> Result<(), TryLockError> {
        self.local.try_lock()
    }
}

#[derive(Debug)]
struct RelayConnection {
    stream: BufReader<UnixStream>,
    /// A response is missing: a later one could be mistaken for it.
    is_lost: bool,
}

impl RelayConnection {
    fn ask(&mut self, request: &RelayRequest, bytes: &[u8]) -> io::Result<u64> {
        if self.is_lost {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the relay is gone"));
        }
        self.is_lost = true;
        let mut message = serde_json::to_vec(request).map_err(io::Error::other)?;
        message.push(b'\n');
        message.extend_from_slice(bytes);
        self.stream.get_mut().write_all(&message)?;
        let mut line = String::new();
        let read = (&mut self.stream).take(REPLY_BYTES_MAX).read_line(&mut line)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the relay is gone"));
        }
        let reply: RelayReply = serde_json::from_str(&line).map_err(io::Error::other)?;
        self.is_lost = false;
        match reply.error {
            Some(words) => Err(io::Error::other(words)),
            None => Ok(reply.length),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Limit for the relay, which has a much shorter limit of its own: its worker's lease.
const RELAY_TIMEOUT: Duration = Duration::from_secs(600);
/// Limit on the bytes that wait for the relay.
const PENDING_BYTES_MAX: u64 = 256 << 20;
const REPLY_BYTES_MAX: u64 = 64 << 10;
