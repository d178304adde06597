//! Lists the names in a folder.

use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
pub(super) fn list_folder(handle: &OwnedFd) -> rustix::io::Result<Vec<Box<[u8]>>> {
    use std::mem::MaybeUninit;

    let mut buffer = [MaybeUninit::uninit(); 32 << 10];
    let mut listing = rustix::fs::RawDir::new(handle, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.into());
        }
    }
    Ok(names)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn list_folder(handle: &OwnedFd) -> rustix::io::Result<Vec<Box<[u8]>>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.into());
        }
    }
    Ok(names)
}
