//! A shell line, understood as far as it can be trusted.
//!
//! `grammar` makes a tree of it, `walk` takes the tree apart into parts, each a simple command that
//! could run; `wrapper` finds the commands that parts run in turn. What a part does is said by
//! `effect`, `reading`, `risk` and the lists in `table`. Where the grammar is at a loss, `loose`
//! guesses, for deny rules only. Nothing here runs or expands anything.

mod builtin;
mod effect;
mod grammar;
mod interpreter;
mod loose;
mod pattern;
mod plain;
mod quote;
mod reading;
mod removal;
mod risk;
mod script;
mod script_text;
mod table;
mod touched;
mod transparent;
mod variable;
mod walk;
mod word;
mod wrapper;

pub(crate) use effect::{Deed, certain_words, deed, only_reads, read_words, written_words};
pub(crate) use interpreter::is_interpreter;
pub(crate) use pattern::{Pattern, Touch};
pub use plain::plain_words;
pub use reading::{Reading, reading};
pub(crate) use removal::removes_critical;
pub(crate) use risk::reaches_beyond_rule;
pub(crate) use script::{Does, Doubt, Part, Places, Script};
pub(crate) use transparent::unwrapped;
pub(crate) use walk::{Scene, read as read_script};
pub(crate) use word::Word;
pub(crate) use wrapper::{base_name, is_runner};

use std::path::{Path, PathBuf};

use crate::glob::{overlaps, overlaps_with_dots};
use crate::ground::{Ground, candidates};
use crate::path::Glob;
use crate::subject::Access;
use crate::world::{Blind, Meant};

/// A shell line, taken apart once for all rules.
#[derive(Debug)]
pub(crate) struct Command {
    /// As written.
    pub(crate) text: String,
    pub(crate) script: Script,
    /// Every file a part may touch.
    pub(crate) files: Vec<FileUse>,
    /// The spellings of those files in small letters.
    pub(crate) paths: Vec<String>,
}

/// A file that a part may touch.
#[derive(Debug)]
pub(crate) struct FileUse {
    /// The part's place in the list.
    pub(crate) part: usize,
    /// The word as shown.
    pub(crate) text: String,
    pub(crate) access: Access,
    /// What it may mean; empty when that cannot be known.
    pub(crate) meant: Vec<Meant>,
    /// The same with patterns of the shell in it: it stands for every file that fits one.
    pub(crate) globs: Vec<Glob>,
}

impl Command {
    pub(crate) fn read(text: &str, scene: Scene<'_>, ground: &Ground<'_>) -> Self {
        let mut script = walk::read(text, scene);
        if !script.is_understood() {
            loose::scan(text, scene, 0, &mut script);
        }
        // Where the shell stands may not be known; where it stood at first is the best guess.
        let here = scene.cwd.map_or(Places::Unknown, |cwd| Places::one(cwd.to_path_buf()));
        let mut files = Vec::new();
        let fits = if stars_reach_dots(text) { overlaps_with_dots } else { overlaps };
        for (at, part) in script.parts.iter().enumerate() {
            let mut take = |words: Vec<&Word>, access| {
                for word in words {
                    let here = if part.places.all().is_empty() { &here } else { &part.places };
                    let (meant, is_glob) = (file_meant(word, here, ground), is_glob(word));
                    for (text, meant) in meant {
                        let readings = meant.iter().filter(|_| is_glob).flat_map(Meant::readings);
                        let globs = readings.map(|path| Glob::new(path, fits)).collect();
                        files.push(FileUse { part: at, text, access, meant, globs });
                    }
                }
            };
            take(read_words(part), Access::Read);
            take(written_words(part), Access::Write);
        }
        let spelled = files
            .iter()
            .flat_map(|file| &file.meant)
            .flat_map(|meant| meant.readings().map(|path| path.to_string_lossy().to_lowercase()));
        let paths = spelled.collect();
        Self { text: text.to_owned(), script, files, paths }
    }

    /// The parts that must be allowed for the line to be allowed.
    pub(crate) fn own_parts(&self) -> impl Iterator<Item = &Part> {
        self.script.parts.iter().filter(|part| !part.is_inner)
    }

    /// Does it read only?
    pub(crate) fn only_reads(&self) -> bool {
        self.script.is_understood() && self.own_parts().all(|part| only_reads(part).is_some())
    }
}

/// The files a word may name, as shown, and what each may mean; nothing where that cannot be known.
fn file_meant(word: &Word, places: &Places, ground: &Ground<'_>) -> Vec<(String, Vec<Meant>)> {
    if word.is_pipe() {
        return Vec::new();
    }
    if word.known.is_none() && !is_glob(word) {
        return vec![(word.text.clone(), Vec::new())];
    }
    let meant = |text: &str| ground.meant(text, places).unwrap_or_default();
    candidates(&word.text).into_iter().map(|text| (text.to_owned(), meant(text))).collect()
}

/// Is the word a pattern of the shell, and certain but for what fits it?
fn is_glob(word: &Word) -> bool {
    word.is_glob && !word.text.contains('…')
}

/// May an option of the shell be on that lets its stars stand for a leading dot?
fn stars_reach_dots(text: &str) -> bool {
    ["shopt", "dotglob", "GLOBIGNORE"].iter().any(|word| text.contains(word))
}

/// One command found in a line, as far as it is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The program and its arguments; `None` where only running would tell. A word that may become
    /// several, or none, ends the list.
    pub words: Vec<Option<String>>,
    /// More words may follow than are listed.
    pub is_open: bool,
    /// Files it writes by redirects; `None` where only running would tell.
    pub writes: Vec<Option<String>>,
    /// Where it may stand when it runs; empty when that is not known.
    pub places: Vec<PathBuf>,
}

/// Every command a line could run, and whether the line is understood completely. `cwd` is where
/// the shell stands.
#[must_use]
pub fn commands(text: &str, cwd: &Path) -> (Vec<Found>, bool) {
    let script = walk::read(text, Scene { cwd: Some(cwd), world: &Blind, depth: 0 });
    let found = script.parts.iter().map(|part| {
        let is_several = |word: &Word| (word.known.is_none() && word.is_split) || word.is_glob;
        let ends = |word: &Word| is_several(word) || word.is_choice;
        // A word of the grammar to bash, and a program to nobody but the grammar here.
        let is_grammar = |word: &&Word| {
            matches!(word.text.as_str(), "time" | "-p") || variable::is_assignment(&word.text)
        };
        let front = match part.words.first() {
            Some(first) if first.text == "time" => part.words.iter().take_while(is_grammar).count(),
            _ => 0,
        };
        let all = part.words.get(front..).unwrap_or_default();
        let certain = all.iter().take_while(|word| !ends(word));
        let words: Vec<_> = certain.map(|word| word.known.clone()).collect();
        let written = part.redirects.iter().filter(|redirect| redirect.does == Does::Write);
        Found {
            is_open: words.len() < all.len(),
            words,
            writes: written.map(|redirect| redirect.target.known.clone()).collect(),
            places: part.places.all().to_vec(),
        }
    });
    (found.collect(), script.is_understood())
}

/// Does this shell line only read, so that it may run beside others? Nothing that moves the shell
/// does; nor anything that is not understood.
#[must_use]
pub fn reads_only(text: &str) -> bool {
    let script = walk::read(text, Scene { cwd: None, world: &Blind, depth: 0 });
    let mut own = script.parts.iter().filter(|part| !part.is_inner);
    script.is_understood() && own.all(|part| only_reads(part) == Some(false))
}
