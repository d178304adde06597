//! What a part does by itself: which variables, files and directories, and whether it may do more.

use super::builtin::declares;
use super::reading::{Look, look};
use super::risk::writes_its_words;
use super::script::{Does, Part};
use super::script_text::{sed_is_plain, sed_scripts};
use super::touched::touched;
use super::transparent::unwrapped;
use super::variable::{is_harmless, is_own};
use super::word::Word;

/// What a command comes to when it is looked at alone, redirects aside.
#[derive(Debug)]
pub(crate) enum Deed<'p> {
    /// It only reads.
    Reads(Look<'p>),
    /// It changes these files and nothing else.
    Edits(Vec<&'p Word>),
    /// It only sets variables of the line, or calls a function of the line.
    Settles,
    /// It may do anything.
    Anything,
}

/// What the command comes to.
pub(crate) fn deed(part: &Part) -> Deed<'_> {
    let Some(first) = part.words.first() else {
        let is_own = part.assigns.iter().all(|assign| is_own(&assign.name));
        return if is_own { Deed::Settles } else { Deed::Anything };
    };
    match first.certain() {
        Some("export") => {
            let is_fine = part.words.len() == 1 && sets_harmless(part);
            return if is_fine { Deed::Settles } else { Deed::Anything };
        }
        Some("declare" | "typeset" | "local" | "readonly" | "unset") => {
            let is_own = part.assigns.iter().all(|assign| is_own(&assign.name));
            let is_fine = is_own && declares(&part.words);
            return if is_fine { Deed::Settles } else { Deed::Anything };
        }
        _ => {}
    }
    // Set for the one builtin that splits words by it, it changes nothing else.
    let is_for_read = first.certain() == Some("read")
        && part.assigns.iter().all(|assign| assign.name == "IFS" && assign.value.is_some());
    if !sets_harmless(part) && !is_for_read {
        return Deed::Anything;
    }
    if part.is_function {
        return Deed::Settles;
    }
    let Some(words) = unwrapped(&part.words) else { return Deed::Anything };
    match look(words) {
        Some(look) => Deed::Reads(look),
        None => edits(words).map_or(Deed::Anything, Deed::Edits),
    }
}

/// Are all variables in front such that they cannot change what the command does?
pub(crate) fn sets_harmless(part: &Part) -> bool {
    part.assigns.iter().all(|assign| {
        let value = assign.value.as_ref().and_then(Word::certain);
        is_harmless(&assign.name) && value.is_some()
    })
}

/// The files of a command that makes, moves, copies, removes or rewrites them.
fn edits(words: &[Word]) -> Option<Vec<&Word>> {
    let (first, arguments) = words.split_first()?;
    match first.certain()? {
        "mkdir" | "touch" | "rm" | "rmdir" | "mv" | "cp" => Some(arguments.iter().collect()),
        "sed" => {
            let (_, files) = sed_scripts(arguments)?;
            sed_is_plain(arguments).then_some(files)
        }
        _ => None,
    }
}

/// Does the part read only, wherever its files lie? The second says whether it moves the shell.
pub(crate) fn only_reads(part: &Part) -> Option<bool> {
    let is_quiet = part.redirects.iter().all(|redirect| {
        let target = redirect.target.as_known().map(std::path::Path::new);
        redirect.does == Does::Read || target.is_some_and(crate::ground::is_harmless_device)
    });
    match deed(part) {
        Deed::Reads(look) if is_quiet => Some(look.moves),
        Deed::Settles if is_quiet => Some(false),
        _ => None,
    }
}

/// Words that may name files a part reads, as widely as they may be meant; `None` when it is not
/// known to read any.
pub(crate) fn read_words(part: &Part) -> Vec<&Word> {
    let mut words: Vec<&Word> = redirected(part, Does::Read);
    let stripped = unwrapped(&part.words).unwrap_or(&part.words);
    match look(stripped) {
        Some(look) => words.extend(look.files),
        None if !part.is_wrapper && touched(stripped).is_some() => {
            words.extend(touched(stripped).map(|touched| touched.reads).unwrap_or_default());
        }
        None => {
            let program = stripped.first().map(|word| super::base_name(&word.text));
            let is_reader = program.is_some_and(|program| FILE_READERS.contains(&program));
            if is_reader || part.is_wrapper {
                // Some programs are mostly given text; what they are given must at least be seen.
                let is_text = program.is_some_and(|program| TAKE_TEXT.contains(&program));
                let words_of = stripped.iter().skip(1);
                words.extend(words_of.filter(|word| !is_text || word.known.is_some()));
            }
        }
    }
    words
}

/// Words that may name files a part writes.
pub(crate) fn written_words(part: &Part) -> Vec<&Word> {
    let mut words: Vec<&Word> = redirected(part, Does::Write);
    let stripped = unwrapped(&part.words).unwrap_or(&part.words);
    if !part.is_wrapper
        && let Some(touched) = touched(stripped)
    {
        words.extend(touched.writes);
        return words;
    }
    let writes = stripped.first().is_some_and(|word| writes_its_words(&word.text));
    if writes || part.is_wrapper {
        words.extend(stripped.iter().skip(1));
    }
    words
}

/// Words that are sure to name files, those read first, for people to see.
pub(crate) fn certain_words(part: &Part) -> (Vec<&Word>, Vec<&Word>) {
    let (mut reads, mut writes) = (redirected(part, Does::Read), redirected(part, Does::Write));
    let stripped = unwrapped(&part.words).unwrap_or(&part.words);
    if let Some(look) = look(stripped) {
        let is_option = |word: &&Word| word.may_be_option() && word.known.is_some();
        reads.extend(look.files.into_iter().filter(|word| !is_option(word)));
    } else if let Some(touched) = touched(stripped).filter(|_| !part.is_wrapper) {
        reads.extend(touched.reads);
        writes.extend(touched.writes);
    }
    (reads, writes)
}

fn redirected(part: &Part, does: Does) -> Vec<&Word> {
    let meant = part.redirects.iter().filter(|redirect| redirect.does == does);
    meant.map(|redirect| &redirect.target).collect()
}

/// Programs whose words are text as often as files.
const TAKE_TEXT: &[&str] = &[
    "git", "curl", "wget", "python", "python3", "node", "perl", "ruby", "php", "lua", "openssl",
    "nc", "socat", "tr", "dd", "env",
];

/// Programs that show what is in a file, beyond those that can do nothing else.
const FILE_READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "most",
    "bat",
    "batcat",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "cut",
    "sort",
    "uniq",
    "wc",
    "diff",
    "cmp",
    "comm",
    "xxd",
    "od",
    "hexdump",
    "hd",
    "strings",
    "base64",
    "base32",
    "basenc",
    "tac",
    "nl",
    "rev",
    "paste",
    "join",
    "split",
    "csplit",
    "cp",
    "mv",
    "ln",
    "tee",
    "tar",
    "zip",
    "gzip",
    "zcat",
    "bzip2",
    "xz",
    "xzcat",
    "curl",
    "wget",
    "scp",
    "rsync",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "view",
    "ex",
    "ed",
    "jq",
    "yq",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "lua",
    "openssl",
    "source",
    ".",
    "bash",
    "sh",
    "zsh",
    "dash",
    "env",
    "xargs",
    "dd",
    "git",
    "column",
    "fold",
    "fmt",
    "pr",
    "tr",
    "file",
    "stat",
    "readlink",
    "install",
    "mapfile",
    "readarray",
    "iconv",
    "shuf",
    "look",
    "sum",
    "cksum",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "b2sum",
    "gpg",
    "pandoc",
    "expand",
    "unexpand",
    "tsort",
    "ptx",
    "dos2unix",
    "patch",
    "sqlite3",
    "nc",
    "socat",
    "busybox",
];
