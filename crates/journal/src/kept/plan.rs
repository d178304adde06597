//! What going back to a record would change, looked at and not done.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Kept;
use super::log::{Changed, Image};
use crate::digest::content_name;

/// What going back would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The file.
    pub path: PathBuf,
    /// What it would hold again.
    pub target: Image,
    /// The bits of its mode then.
    pub mode: Option<u32>,
    /// What it holds now.
    pub current: Image,
    /// How that compares.
    pub standing: Standing,
}

/// How a file stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As our last change left it: it can be taken back.
    Unchanged,
    /// As it would be: nothing is to be done.
    Same,
    /// Somebody else changed it since: only somebody who is asked may say that it is overwritten.
    ChangedByOthers,
    /// What it held was too large to keep: it cannot be taken back.
    NotKept,
}

impl Kept {
    /// What going back to this record would change: every file that was changed behind it, in the
    /// order in which they were first changed.
    #[must_use]
    pub fn plan_restore(&self, to_record: u64) -> Vec<Planned> {
        let mut spans: Vec<(Changed, Changed)> = Vec::new();
        for changed in self.changes_behind(to_record) {
            match spans.iter_mut().find(|(first, _)| first.path == changed.path) {
                Some((_, last)) => *last = changed,
                None => spans.push((changed.clone(), changed)),
            }
        }
        spans.into_iter().map(|(first, last)| self.planned(first, &last)).collect()
    }

    /// What was changed behind a record that counts, oldest first. Records that no longer count may
    /// have had its number; what was changed behind those came before.
    fn changes_behind(&self, record: u64) -> Vec<Changed> {
        let log = self.log();
        let back = log.backs.iter().rev().find(|(_, back_to)| *back_to <= record);
        let later = log.changes.iter().skip(back.map_or(0, |(changes, _)| *changes));
        later.filter(|changed| changed.record > record).cloned().collect()
    }

    /// What a file holds now and what it would hold again; nothing where it is not or will not be.
    #[must_use]
    pub fn contents(&self, planned: &Planned) -> (Vec<u8>, Vec<u8>) {
        let now = match planned.current {
            Image::Content(_) => std::fs::read(&planned.path).unwrap_or_default(),
            Image::Absent | Image::NotKept => Vec::new(),
        };
        let then = match &planned.target {
            Image::Content(name) => std::fs::read(self.blob(name)).unwrap_or_default(),
            Image::Absent | Image::NotKept => Vec::new(),
        };
        (now, then)
    }

    fn planned(&self, first: Changed, last: &Changed) -> Planned {
        let Changed { path, before: target, mode, .. } = first;
        let current = self.look(&path);
        let is_there = match &target {
            Image::Content(name) => self.blob(name).is_file(),
            Image::Absent => true,
            Image::NotKept => false,
        };
        let standing = match () {
            () if current == target => Standing::Same,
            () if !is_there => Standing::NotKept,
            // Our last change may have been announced and not made.
            () if current == last.after || current == last.before => Standing::Unchanged,
            () => Standing::ChangedByOthers,
        };
        Planned { path, target, mode, current, standing }
    }

    /// What a file holds now. What is no plain file, or is too large, is nothing of ours.
    pub(super) fn look(&self, path: &Path) -> Image {
        let Ok(found) = path.symlink_metadata() else { return Image::Absent };
        let max = self.limits.session_bytes_max;
        if !found.is_file() || found.len() > max {
            return Image::NotKept;
        }
        let mut bytes = Vec::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes));
        match read {
            Ok(_) => Image::Content(content_name(&bytes)),
            Err(_) => Image::NotKept,
        }
    }
}
