//! Decides which names `.gitignore`, `.git/info/exclude` and the caller's patterns ignore.
//!
//! Levels form a chain from a folder up to its repository's root; the nearest rule that matches
//! decides. A level is compiled on the first query, which most looks never make: names seen before
//! keep their answer while the chain's identity is unchanged.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::digest::ContentDigest;
use crate::relative_path::RelativePath;

/// A line with wildcards takes up to a thousand times its bytes of memory once it is compiled. A level
/// that exceeds this, together with those above it, ignores nothing.
const WILDCARD_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct RuleLevel {
    parent: Option<Arc<RuleLevel>>,
    folder: RelativePath,
    lines: Vec<u8>,
    /// Bytes of the lines with wildcards, with those of all parent levels.
    wildcard_bytes: usize,
    matcher: OnceLock<Gitignore>,
    /// Equal exactly for equal rules at equal paths, including all parent levels.
    pub(crate) identity: ContentDigest,
}

impl RuleLevel {
    /// The weakest rules: the caller's patterns, at the root of a repository or of the workspace.
    pub(crate) fn base(patterns: &[String], folder: &RelativePath) -> Arc<Self> {
        Self::build(None, folder, patterns.join("\n").into_bytes())
    }

    /// The rules of a file in `folder`, which override those above.
    pub(crate) fn below(parent: &Arc<Self>, folder: &RelativePath, lines: Vec<u8>) -> Arc<Self> {
        Self::build(Some(Arc::clone(parent)), folder, lines)
    }

    fn build(parent: Option<Arc<Self>>, folder: &RelativePath, lines: Vec<u8>) -> Arc<Self> {
        let mut identity = Vec::new();
        if let Some(parent) = &parent {
            identity.extend_from_slice(parent.identity.as_bytes());
        }
        identity.extend_from_slice(ContentDigest::of(folder.as_bytes()).as_bytes());
        identity.extend_from_slice(&lines);
        let identity = ContentDigest::of(&identity);
        let wildcard_bytes = parent.as_ref().map_or(0, |parent| parent.wildcard_bytes)
            + lines
                .split(|byte| *byte == b'\n')
                .filter(|line| has_wildcard(line))
                .flatten()
                .count();
        let folder = folder.clone();
        Arc::new(Self { parent, folder, lines, wildcard_bytes, matcher: OnceLock::new(), identity })
    }

    pub(crate) fn is_ignored(&self, path: &RelativePath, is_folder: bool) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            match rules.matcher().matched(below_folder(path, &rules.folder), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.parent.as_deref(),
            }
        }
        false
    }

    fn matcher(&self) -> &Gitignore {
        self.matcher.get_or_init(|| {
            if self.wildcard_bytes > WILDCARD_BYTES_MAX {
                return Gitignore::empty();
            }
            let mut builder = GitignoreBuilder::new("");
            let text = String::from_utf8_lossy(&self.lines);
            for line in text.trim_start_matches('\u{feff}').lines() {
                // An invalid pattern ignores nothing, as in git.
                let _ = builder.add_line(None, line);
            }
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }
}

fn has_wildcard(line: &[u8]) -> bool {
    !line.starts_with(b"#") && line.iter().any(|byte| b"*?[{\\".contains(byte))
}

fn below_folder<'a>(path: &'a RelativePath, folder: &RelativePath) -> &'a Path {
    let bytes = path.as_bytes();
    let rest = bytes.strip_prefix(folder.as_bytes()).unwrap_or(bytes);
    Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}
