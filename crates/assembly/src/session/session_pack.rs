//! `windlass pack` and `windlass unpack`: move a session to another machine.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use windlass_driver::snapshot::{
    PackedWorkspace, SharedWorkspace, SnapshotCopy, pack_workspace, unpack_workspace,
};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::random;
use windlass_journal::lock_journal;
use windlass_journal::session_catalogue::{
    ListedSession, PackManifest, PackSource, WORKSPACE_NAME, adopt_unpacked, read_pack_manifest,
    unpack_files, write_pack,
};

use super::known_secrets::find_all_secrets;
use super::snapshots::snapshot_config;
use super::{journal_error, open_catalogue};

#[derive(Clone, Debug)]
pub struct PackedSession {
    pub file: PathBuf,
    pub bytes: u64,
    /// Files of the session itself.
    pub session_files: usize,
    /// What it has of the working directory; `None` if that was left out.
    pub workspace: Option<PackedWorkspace>,
}

#[derive(Clone, Debug)]
pub struct UnpackedSession {
    pub id: String,
    pub directory: PathBuf,
    pub copied: Option<SnapshotCopy>,
}

pub fn pack_session(
    source: &ListedSession,
    file: &Path,
    takes_files: bool,
    lookup: &impl EnvLookup,
) -> Result<PackedSession, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::failure(format!("cannot write {}: {error}", file.display()))
    };
    if file.symlink_metadata().is_ok() {
        let words = format!("{} already exists; name another with -o", file.display());
        return Err(CommandError::failure(words));
    }
    // Nothing may be added while it is packed.
    let _lock = lock_journal(&source.path).map_err(|error| journal_error(&error))?;
    let mut partial = PartialFile::create(file).map_err(failed)?;
    let secrets = find_all_secrets(lookup).map_err(|error| {
        CommandError::failure(format!("nothing was packed, as a key might travel with it: {error}"))
    })?;
    let mut stream = None;
    let mut packed_workspace = None;
    if let Some(project) = source.summary.project.as_deref().filter(|_| takes_files) {
        let config = snapshot_config(Path::new(project), lookup)
            .ok_or_else(|| CommandError::failure("there is no place for snapshots"))?;
        let shared =
            SharedWorkspace::new(Path::new(project), config).with_known_secrets(secrets.clone());
        let mut beside = PartialFile::create(&file.with_extension("files")).map_err(failed)?;
        let packed = pack_workspace(&shared, &mut beside.file).map_err(|words| {
            CommandError::failure(format!(
                "the files of {project} cannot be packed: {words}; --no-files leaves them out"
            ))
        })?;
        beside.file.flush().map_err(failed)?;
        packed_workspace = Some(packed);
        stream = Some(beside);
    }
    let workspace = stream.as_ref().map(|stream| stream.path.as_path());
    let summary = &source.summary;
    let packed_session = PackSource {
        journal: &source.path,
        session: &summary.id,
        project: summary.project.as_deref(),
        workspace,
    };
    let holds_key = |bytes: &[u8]| secrets.are_in(bytes);
    let manifest = write_pack(&packed_session, &holds_key, &mut partial.file)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let bytes = partial.finish(file).map_err(failed)?;
    let session_files = manifest.files.len() - usize::from(packed_workspace.is_some());
    let workspace = packed_workspace;
    Ok(PackedSession { file: file.to_owned(), bytes, session_files, workspace })
}

pub fn unpack_session(
    file: &Path,
    into: Option<&Path>,
    lookup: &impl EnvLookup,
) -> Result<UnpackedSession, CommandError> {
    let failed = |words: String| {
        CommandError::failure(format!("nothing was unpacked from {}: {words}", file.display()))
    };
    let opened = File::open(file).map_err(|error| failed(error.to_string()))?;
    let mut reader = BufReader::new(opened);
    let manifest = read_pack_manifest(&mut reader).map_err(|error| failed(error.to_string()))?;
    let catalogue = open_catalogue(lookup)?;
    let known = catalogue.list(None).map_err(|error| journal_error(&error))?;
    if known.iter().any(|listed| listed.summary.id == manifest.session) {
        return Err(failed(format!("the session {} already exists here", manifest.session)));
    }
    let place = choose_place(&manifest, into)?;
    let staging = StagingFolder::create(&catalogue.root().join("unpacking"))
        .map_err(|error| failed(error.to_string()))?;
    unpack_files(&manifest, &mut reader, &staging.path)
        .map_err(|error| failed(error.to_string()))?;
    let stream = staging.path.join(WORKSPACE_NAME);
    let mut copied = None;
    if stream.is_file() {
        let empty = staging.path.join("empty");
        std::fs::create_dir(&empty).map_err(|error| failed(error.to_string()))?;
        let config = snapshot_config(&place, lookup)
            .ok_or_else(|| failed("there is no place for snapshots".to_owned()))?;
        let shared = SharedWorkspace::new(&empty, config);
        let mut stream = File::open(&stream).map_err(|error| failed(error.to_string()))?;
        copied = Some(unpack_workspace(&shared, &mut stream, &place).map_err(failed)?);
    } else {
        std::fs::create_dir_all(&place).map_err(|error| failed(error.to_string()))?;
    }
    let directory = place.canonicalize().unwrap_or(place);
    let journal = catalogue.journal_path(&directory, &manifest.session);
    adopt_unpacked(&manifest, &staging.path, &journal, &directory)
        .map_err(|error| failed(error.to_string()))?;
    Ok(UnpackedSession { id: manifest.session, directory, copied })
}

/// Where the files go: a folder of the original's name below the current one, if none is given.
fn choose_place(manifest: &PackManifest, into: Option<&Path>) -> Result<PathBuf, CommandError> {
    let place = match (into, &manifest.project) {
        (Some(into), _) => into.to_owned(),
        (None, Some(project)) => PathBuf::from(Path::new(project).file_name().unwrap_or_default()),
        (None, None) => PathBuf::new(),
    };
    // A hidden folder would mean something to other programs, such as `.git`.
    let is_hidden = into.is_none() && place.as_os_str().as_encoded_bytes().starts_with(b".");
    if place.as_os_str().is_empty() || is_hidden {
        return Err(CommandError::usage("give a folder: --into DIR"));
    }
    std::path::absolute(&place).map_err(|error| CommandError::failure(error.to_string()))
}

/// A file that is there under its name as a whole, or not at all.
struct PartialFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl PartialFile {
    fn create(target: &Path) -> std::io::Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let file = BufWriter::new(File::create_new(&path)?);
        Ok(Self { path, file })
    }

    /// Its size, once it is there.
    fn finish(mut self, target: &Path) -> std::io::Result<u64> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.sync_all()?;
        let bytes = file.stream_position()?;
        std::fs::rename(&self.path, target)?;
        Ok(bytes)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Gone already if it was finished.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Deleted with everything in it on drop.
struct StagingFolder {
    path: PathBuf,
}

impl StagingFolder {
    fn create(parent: &Path) -> std::io::Result<Self> {
        let path = parent.with_file_name(format!(
            "{}-{}",
            parent.file_name().unwrap_or_default().to_string_lossy(),
            random::generate_uuid()
        ));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
