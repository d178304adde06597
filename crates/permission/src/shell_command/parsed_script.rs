//! A parsed shell line: every simple command, its directories, and what is uncertain.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::file_system_view::PathAccess;

use super::shell_word::ShellWord;

#[derive(Debug, Default)]
pub(crate) struct ParsedShellScript {
    /// Every command that could run, in order.
    pub(crate) parts: Vec<SimpleCommand>,
    /// What is not understood; empty if everything is.
    pub(crate) doubts: Vec<ParseDoubt>,
    /// It contains a command whose name or text is known only at run time.
    pub(crate) has_hidden: bool,
    /// Words in code of other languages, in lower case.
    pub(crate) mentions: BTreeSet<String>,
    /// Removals in such code; critical ones ask wherever they are.
    pub(crate) removals: Vec<SimpleCommand>,
}

impl ParsedShellScript {
    /// The parsed text is not the line itself, so its offsets are meaningless.
    pub(crate) fn forget_word_starts(&mut self) {
        self.parts.iter_mut().for_each(|part| part.word_starts.clear());
    }

    /// Is every character of the line accounted for?
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
    /// The offset of each word in the line, for words that are in it.
    pub(crate) word_starts: Vec<usize>,
    /// Variables set before it, or alone.
    pub(crate) assigns: Vec<VariableAssignment>,
    pub(crate) redirects: Vec<ShellRedirect>,
    pub(crate) working_directories: PossibleDirectories,
    /// Its input is a list of file names, printed by a command inside the working directories.
    pub(crate) reads_listed_names: bool,
    /// It is run by another part, whose words contain it.
    pub(crate) is_inner: bool,
    /// Another command may start at its words.
    pub(crate) is_wrapper: bool,
    /// It calls a function defined in the line, whose body is checked separately.
    pub(crate) is_function: bool,
}

/// `NAME=value` before a command, or alone.
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
    /// One of these, as the shell spells them.
    Known(Vec<PathBuf>),
}

/// With more directories than this, the directory counts as unknown.
const PLACES_MAX: usize = 4;

impl PossibleDirectories {
    pub(crate) fn single(path: PathBuf) -> Self {
        Self::Known(vec![path])
    }

    /// All directories; empty if unknown.
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
