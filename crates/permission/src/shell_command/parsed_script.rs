//! A shell line taken apart: every simple command in it, where it stands, and what is uncertain.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::file_system_view::PathAccess;

use super::shell_word::ShellWord;

#[derive(Debug, Default)]
pub(crate) struct ParsedShellScript {
    /// Every command that could run, in the order they are written.
    pub(crate) parts: Vec<SimpleCommand>,
    /// What is not understood; empty when everything is.
    pub(crate) doubts: Vec<ParseDoubt>,
    /// A command whose name or text only exists at run time.
    pub(crate) has_hidden: bool,
    /// Words in code for other languages, in small letters.
    pub(crate) mentions: BTreeSet<String>,
    /// Removals found in such code; what is critical is asked wherever it stands.
    pub(crate) removals: Vec<SimpleCommand>,
}

impl ParsedShellScript {
    /// What was read is not the line itself, so nothing in it has a place there.
    pub(crate) fn forget_word_starts(&mut self) {
        self.parts.iter_mut().for_each(|part| part.word_starts.clear());
    }

    /// Is every bit of the line accounted for?
    pub(crate) fn is_understood(&self) -> bool {
        self.doubts.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseDoubt {
    pub(crate) why: &'static str,
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) text: String,
    pub(crate) words: Vec<ShellWord>,
    /// Where each of them begins in the line, as far as they stand in it.
    pub(crate) word_starts: Vec<usize>,
    /// Variables set in front of it, or alone.
    pub(crate) assigns: Vec<VariableAssignment>,
    pub(crate) redirects: Vec<ShellRedirect>,
    pub(crate) working_directories: PossibleDirectories,
    /// Its input is the list of names that a command inside the working directories prints.
    pub(crate) reads_listed_names: bool,
    /// It is run by another part, found among that one's words.
    pub(crate) is_inner: bool,
    /// Which of its words may begin another command that it runs.
    pub(crate) is_wrapper: bool,
    /// It calls a function of this very line, whose body is judged by itself.
    pub(crate) is_function: bool,
}

/// `NAME=value` in front of a command or alone.
#[derive(Clone, Debug)]
pub(crate) struct VariableAssignment {
    pub(crate) name: String,
    /// `None` for an array.
    pub(crate) value: Option<ShellWord>,
    pub(crate) text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct ShellRedirect {
    pub(crate) access: PathAccess,
    pub(crate) target: ShellWord,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PossibleDirectories {
    #[default]
    Unknown,
    /// In one of these, as the shell spells them.
    Known(Vec<PathBuf>),
}

/// Places kept apart before they count as anywhere.
const PLACES_MAX: usize = 4;

impl PossibleDirectories {
    pub(crate) fn single(path: PathBuf) -> Self {
        Self::Known(vec![path])
    }

    /// All places; none when they are not known.
    pub(crate) fn as_slice(&self) -> &[PathBuf] {
        match self {
            Self::Unknown => &[],
            Self::Known(directories) => directories,
        }
    }

    pub(crate) fn union_with(self, other: Self) -> Self {
        let (Self::Known(mut directories), Self::Known(more)) = (self, other) else {
            return Self::Unknown;
        };
        for place in more {
            if !directories.contains(&place) {
                directories.push(place);
            }
        }
        if directories.len() > PLACES_MAX { Self::Unknown } else { Self::Known(directories) }
    }
}
