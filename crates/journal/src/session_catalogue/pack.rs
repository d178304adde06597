//! Packs a session in one file, to take it to another machine: a first line, a manifest, then the
//! bytes of every listed file. Unpacking is atomic, and checks everything before it is used.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use windlass_vocabulary::to_hex;

use super::trash::list_companions;
use crate::disk::{RealDisk, replace_file};
use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{JournalLine, decode_line, encode_head};

/// The description of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackManifest {
    pub session: String,
    /// The working directory it comes from.
    pub project: Option<String>,
    pub files: Vec<PackedFile>,
}

/// One file of a pack, in the order of their bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// Relative to the folder of the session, or [`WORKSPACE_NAME`].
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

/// Why a pack is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("this is not a pack of a session, or one of a later version")]
    NotAPack,
    #[error("the pack ends too early")]
    Cut,
    #[error("the pack is damaged: `{0}` is not what was packed")]
    Damaged(String),
    #[error("the pack names a file that has no place in a session: `{0}`")]
    BadName(String),
    #[error(
        "the session is not packed: its file `{0}` holds one of your keys, which would travel too"
    )]
    HoldsKey(String),
    #[error("the pack holds more than {} GiB", UNPACKED_BYTES_MAX >> 30)]
    TooLarge,
    #[error("the session {0} is here already")]
    SessionExists(String),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{}: {source}", path.display())]
    Disk { path: PathBuf, source: io::Error },
}

fn disk_error(path: &Path) -> impl FnOnce(io::Error) -> PackError {
    move |source| PackError::Disk { path: path.to_owned(), source }
}

/// A session to pack, and optionally the file with the stream of its working directory.
#[derive(Clone, Copy, Debug)]
pub struct PackSource<'a> {
    pub journal: &'a Path,
    pub session: &'a str,
    pub project: Option<&'a str>,
    pub workspace: Option<&'a Path>,
}

/// Writes a session, unless one of its own files holds a key. The caller holds the journal's lock.
pub fn write_pack(
    source: &PackSource<'_>,
    holds_key: &dyn Fn(&[u8]) -> bool,
    out: &mut dyn Write,
) -> Result<PackManifest, PackError> {
    let PackSource { journal, session, project, workspace } = *source;
    let mut sources: Vec<(String, PathBuf)> = Vec::new();
    for path in std::iter::once(journal.to_owned()).chain(list_companions(journal)) {
        collect_files(&path, &file_name(&path), &mut sources)?;
    }
    // The previous content of edited files is left out: an ignored file with a secret may be among
    // them.
    sources.retain(|(name, _)| !is_file_history(name));
    for (name, path) in &sources {
        if file_holds_key(path, holds_key).map_err(disk_error(path))? {
            return Err(PackError::HoldsKey(name.clone()));
        }
    }
    sources.extend(workspace.map(|path| (WORKSPACE_NAME.to_owned(), path.to_owned())));
    let mut files = Vec::new();
    for (name, path) in &sources {
        let file = File::open(path).map_err(disk_error(path))?;
        let (bytes, sha256) = copy_hashed(file, &mut io::sink()).map_err(disk_error(path))?;
        files.push(PackedFile { name: name.clone(), bytes, sha256 });
    }
    let manifest =
        PackManifest { session: session.to_owned(), project: project.map(str::to_owned), files };
    let text = serde_json::to_string(&manifest).map_err(|_| PackError::NotAPack)?;
    write!(out, "{MAGIC}\n{text}\n").map_err(disk_error(journal))?;
    for ((name, path), packed) in sources.iter().zip(&manifest.files) {
        let file = File::open(path).map_err(disk_error(path))?;
        let (_, sha256) = copy_hashed(file.take(packed.bytes), out).map_err(disk_error(path))?;
        if sha256 != packed.sha256 {
            return Err(PackError::Damaged(name.clone()));
        }
    }
    Ok(manifest)
}

/// Reads the first lines of a pack.
pub fn read_pack_manifest(from: &mut dyn BufRead) -> Result<PackManifest, PackError> {
    let mut lines = from.take(MANIFEST_BYTES_MAX);
    let mut line = String::new();
    let mut read_line = |line: &mut String| {
        line.clear();
        lines.read_line(line).map_err(|_| PackError::NotAPack)
    };
    read_line(&mut line)?;
    if line.trim_end() != MAGIC {
        return Err(PackError::NotAPack);
    }
    read_line(&mut line)?;
    let manifest: PackManifest = serde_json::from_str(&line).map_err(|_| PackError::NotAPack)?;
    let total = manifest.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if total > UNPACKED_BYTES_MAX {
        return Err(PackError::TooLarge);
    }
    let is_ours = |name: &str| name == WORKSPACE_NAME || is_session_file(name, &manifest.session);
    match manifest.files.iter().find(|file| !is_ours(&file.name)) {
        Some(file) => Err(PackError::BadName(file.name.clone())),
        None if manifest.files.iter().all(|file| file.name != journal_name(&manifest)) => {
            Err(PackError::NotAPack)
        }
        None => Ok(manifest),
    }
}

fn journal_name(manifest: &PackManifest) -> String {
    format!("{}.jsonl", manifest.session)
}

/// Writes the files of a pack below a new folder, after its manifest was read. Every file is
/// checked.
pub fn unpack_files(
    manifest: &PackManifest,
    from: &mut dyn BufRead,
    folder: &Path,
) -> Result<(), PackError> {
    for packed in &manifest.files {
        let path = folder.join(&packed.name);
        if let Some(parent) = path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(parent).map_err(disk_error(parent))?;
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(disk_error(&path))?;
        let copied = copy_hashed(from.take(packed.bytes), &mut file);
        let (bytes, sha256) = copied.map_err(disk_error(&path))?;
        file.sync_all().map_err(disk_error(&path))?;
        if bytes < packed.bytes {
            return Err(PackError::Cut);
        }
        if sha256 != packed.sha256 {
            return Err(PackError::Damaged(packed.name.clone()));
        }
    }
    let journal = folder.join(journal_name(manifest));
    match JournalReader::open(&journal)?.next_entry()? {
        Some(Ok(JournalEntry::Head(_))) => Ok(()),
        Some(_) | None => Err(PackError::Damaged(journal_name(manifest))),
    }
}

/// Moves the unpacked files of a session to its folder, as a session of this project. The journal
/// is moved last, so that an incomplete session is not listed.
pub fn adopt_unpacked(
    manifest: &PackManifest,
    folder: &Path,
    journal: &Path,
    project: &Path,
) -> Result<(), PackError> {
    if journal.symlink_metadata().is_ok() {
        return Err(PackError::SessionExists(manifest.session.clone()));
    }
    let place = journal.parent().unwrap_or(journal);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(place).map_err(disk_error(place))?;
    let mut names: Vec<&str> = manifest
        .files
        .iter()
        .filter(|file| file.name != WORKSPACE_NAME)
        .map(|file| file.name.split('/').next().unwrap_or_default())
        .collect();
    names.sort_unstable();
    names.dedup();
    let own = file_name(journal);
    if !names.contains(&own.as_str()) {
        return Err(PackError::BadName(own));
    }
    for name in names.iter().filter(|name| name.ends_with(".jsonl")) {
        set_project(&folder.join(name), project)?;
    }
    names.sort_by_key(|name| *name == own);
    for name in names {
        let from = folder.join(name);
        let to = place.join(name);
        fs::rename(&from, &to).map_err(disk_error(&to))?;
    }
    Ok(())
}

/// The head of the journal names its project, so it is rewritten.
fn set_project(path: &Path, project: &Path) -> Result<(), PackError> {
    let bytes = fs::read(path).map_err(disk_error(path))?;
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let (line, rest) = bytes.split_at(end);
    let Ok((JournalLine::Head(mut head), _)) = decode_line(line) else { return Ok(()) };
    head.project = Some(project.to_string_lossy().into_owned());
    let unwritable = |source| JournalError::Unwritable { path: path.to_owned(), source };
    let mut changed = encode_head(&head).map_err(unwritable)?;
    changed.extend_from_slice(rest);
    replace_file(&RealDisk, path, &changed).map_err(disk_error(path))
}

/// Collects regular files below a path; symlinks and others are left out.
fn collect_files(
    path: &Path,
    name: &str,
    found: &mut Vec<(String, PathBuf)>,
) -> Result<(), PackError> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    if metadata.is_file() {
        found.push((name.to_owned(), path.to_owned()));
    } else if metadata.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| entry.map(|it| it.path())).collect())
            .map_err(disk_error(path))?;
        entries.sort();
        for entry in entries {
            collect_files(&entry, &format!("{name}/{}", file_name(&entry)), found)?;
        }
    }
    Ok(())
}

/// Does this file name belong to the session, and to no other?
fn is_session_file(name: &str, session: &str) -> bool {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_own = name.strip_prefix(session).is_some_and(|rest| rest.starts_with('.'));
    let is_id = session.len() >= 8
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_clean = name.is_ascii() && !name.contains('\0') && !name.ends_with('/');
    is_plain && is_own && is_id && is_clean && !is_file_history(name)
}

/// Is this part of a file history? No pack holds one, and one from elsewhere would name files of
/// this machine for a rewind to overwrite. In any case, because some file systems ignore it.
fn is_file_history(name: &str) -> bool {
    name.split('/').any(|part| part.to_lowercase().ends_with(".kept"))
}

/// Reads in pieces that overlap by more than the length of a key.
fn file_holds_key(path: &Path, holds_key: &dyn Fn(&[u8]) -> bool) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut piece: Vec<u8> = Vec::new();
    loop {
        let read = (&file).take(KEY_SCAN_BYTES).read_to_end(&mut piece)?;
        if read == 0 || holds_key(&piece) {
            return Ok(read > 0);
        }
        piece.drain(..piece.len().saturating_sub(KEY_BYTES_MAX));
    }
}

const KEY_SCAN_BYTES: u64 = 4 << 20;
/// Key files have a limit of this size.
const KEY_BYTES_MAX: usize = 64 << 10;

fn copy_hashed(mut from: impl Read, to: &mut dyn Write) -> io::Result<(u64, String)> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 64 << 10];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, to_hex(context.finish().as_ref()))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let piece = buffer.get(..read).unwrap_or_default();
        context.update(piece);
        to.write_all(piece)?;
        bytes += piece.len() as u64;
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

const MAGIC: &str = "windlass-session-pack 1";
/// The name of the working directory's stream.
pub const WORKSPACE_NAME: &str = "workspace";
const MANIFEST_BYTES_MAX: u64 = 16 << 20;
const UNPACKED_BYTES_MAX: u64 = 8 << 30;
