//! Opens a path from the model as a regular file, or returns a message with the reason.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use windlass_permission::path_pattern::normalize_path;

use super::file_context::FileContext;
use super::system_calls::{PATH_ONLY, open_only_beneath, open_without_symlinks};

/// The kernel asks to retry if another process renames directories at the same time.
const OPEN_ATTEMPTS_MAX: u8 = 8;
/// How long a call waits for free file descriptors, and how often it checks.
const DESCRIPTOR_WAIT_MAX: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
}

pub(crate) fn resolve_path(files: &FileContext, raw: &str) -> Result<PathBuf, String> {
    if raw.is_empty() || raw.contains('\0') {
        return Err("The path is empty or contains a NUL byte. Give an absolute path.".to_owned());
    }
    if raw == "~" || raw.starts_with("~/") {
        return Err(format!("`{raw}` is not expanded here. Give the absolute path."));
    }
    Ok(normalize_path(&files.cwd, Path::new(raw)))
}

/// Opens a regular file without following symlinks, blocking, or touching a device.
pub(crate) fn open_regular_file(files: &FileContext, path: &Path) -> Result<OpenedFile, String> {
    if is_virtual_path(path) {
        return Err(format!("`{}` is not a file on disk, so it is not read.", path.display()));
    }
    let file = open_without_links(files, path, READ_FLAGS)
        .map(File::from)
        .map_err(|errno| explain_errno(path, errno))?;
    let metadata = file.metadata().map_err(|error| format!("`{}`: {error}", path.display()))?;
    if metadata.is_file() {
        return Ok(OpenedFile { file, metadata });
    }
    let kind = metadata.file_type();
    let what = if kind.is_dir() {
        "a directory; list it with Glob, or with `ls`"
    } else if kind.is_fifo() {
        "a named pipe, and reading it could wait for ever"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(format!("`{}` is {what}. Only regular files can be read.", path.display()))
}

/// Opens a directory or regular file for searching, without following symlinks. Returns the
/// descriptor of a directory.
pub(crate) fn open_search_root(
    files: &FileContext,
    path: &Path,
) -> Result<Option<OwnedFd>, String> {
    if is_virtual_path(path) {
        return Err(format!("`{}` holds no files on disk, so it is not searched.", path.display()));
    }
    let flags = PATH_ONLY | OFlags::CLOEXEC;
    let place = open_without_links(files, path, flags)
        .map(File::from)
        .map_err(|errno| explain_errno(path, errno))?;
    match place.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(Some(place.into())),
        Ok(metadata) if metadata.is_file() => Ok(None),
        Ok(_) => Err(format!("`{}` is neither a directory nor a file.", path.display())),
        Err(error) => Err(format!("`{}`: {error}.", path.display())),
    }
}

/// Opens a regular file relative to an open directory, without following symlinks. `shown` is its
/// full path for messages.
pub(crate) fn open_beneath(
    directory: &OwnedFd,
    below: &Path,
    shown: &Path,
) -> Result<File, String> {
    let flags = READ_FLAGS;
    let opened = match open_only_beneath(directory, below, flags) {
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::openat(directory, below, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    };
    let file = opened.map(File::from).map_err(|errno| explain_errno(shown, errno))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        _ => Err(format!("`{}` is no regular file any more.", shown.display())),
    }
}

/// Do not block on a pipe, and do not acquire a controlling terminal.
const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The error of a path, with the system's name for it.
pub(crate) fn explain_errno(path: &Path, errno: Errno) -> String {
    let shown = path.display();
    match errno {
        Errno::LOOP => match path.canonicalize() {
            Ok(real) => format!(
                "`{shown}` leads over a symbolic link to `{}`. Use that path, so that it can be \
                 judged.",
                real.display()
            ),
            Err(error) => {
                format!("`{shown}` leads over a symbolic link that ends nowhere: {error}.")
            }
        },
        Errno::NOENT => format!("`{shown}` does not exist. {}", describe_nearest_directory(path)),
        Errno::NXIO => format!("`{shown}` is a socket or a pipe, not a regular file."),
        Errno::MFILE | Errno::NFILE => {
            format!("`{shown}`: too many files are open ({errno}). Run fewer calls at a time.")
        }
        errno => format!("`{shown}`: {errno}."),
    }
}

fn describe_nearest_directory(path: &Path) -> String {
    match path.ancestors().skip(1).find(|ancestor| ancestor.is_dir()) {
        Some(directory) => format!("The nearest directory that does is `{}`.", directory.display()),
        None => String::new(),
    }
}

/// Virtual files may be endless or secret.
fn is_virtual_path(path: &Path) -> bool {
    ["/proc", "/sys", "/dev"].iter().any(|place| path.starts_with(place))
}

/// Opens anything without following symlinks. If too many files are open, waits for a while,
/// because concurrent calls will close theirs.
pub(super) fn open_without_links(
    files: &FileContext,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut looks_left = DESCRIPTOR_WAIT_MAX.as_millis() / POLL_INTERVAL.as_millis();
    loop {
        match open_literal_path(files, path, flags) {
            Err(Errno::MFILE | Errno::NFILE) if looks_left > 0 => looks_left -= 1,
            opened => return opened,
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn open_literal_path(files: &FileContext, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = files.working_directories().into_iter().find(|root| path.starts_with(root));
    // The path to a working directory may contain symlinks, because the user chose it.
    let (start, rest) = match &root {
        Some(root) => {
            let directory = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(root, directory, Mode::empty())?;
            (Some(opened), path.strip_prefix(root).unwrap_or(path))
        }
        None => (None, path),
    };
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    for _ in 0..OPEN_ATTEMPTS_MAX {
        let opened = match &start {
            Some(start) => open_without_symlinks(start, rest, flags),
            None => open_without_symlinks(CWD, rest, flags),
        };
        match opened {
            Ok(opened) => return Ok(opened),
            Err(Errno::AGAIN | Errno::INTR) => {}

            Err(Errno::NOSYS | Errno::PERM) => {
                return open_by_canonical_comparison(path, root.as_deref(), flags);
            }
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::AGAIN)
}

/// For kernels that cannot refuse symlinks: compares the canonical path with the given one.
fn open_by_canonical_comparison(
    path: &Path,
    root: Option<&Path>,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let real = path.canonicalize().map_err(errno)?;
    let expected = match root {
        Some(root) => {
            let rest = path.strip_prefix(root).unwrap_or(path);
            root.canonicalize().map_err(errno)?.join(rest)
        }
        None => path.to_path_buf(),
    };
    if real != expected {
        return Err(Errno::LOOP);
    }
    rustix::fs::open(&real, flags | OFlags::NOFOLLOW, Mode::empty())
}
