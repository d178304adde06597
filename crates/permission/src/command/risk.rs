//! Options that turn a command into another one.
//!
//! A prefix rule speaks of a program, not of every program that program can be told to run. Where
//! the words behind the rule name one, or write outside the working directories, the rule does not
//! cover the call. A list of what is known; a rule for an interpreter still covers its scripts.

use super::parts::Part;
use super::reading::{is_abbreviation, is_cluster};
use super::wrapper::{WRAPPERS, base_name};
use crate::path::may_lead_outside;

/// Does this program only run others?
pub(crate) fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    WRAPPERS.contains(&name) || RUNNERS.contains(&name)
}

const RUNNERS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "su", "eval", "source", "."];

/// Do the words behind the first `named` ones make it more than the rule says?
pub(crate) fn reaches_beyond_rule(words: &[String], named: usize, directories: &[String]) -> bool {
    let Some(program) = words.first() else { return true };
    let rest = words.get(named..).unwrap_or_default();
    let writes_elsewhere = WRITERS.contains(&base_name(program))
        && rest.iter().any(|word| may_lead_outside(word, directories));
    if writes_elsewhere {
        return true;
    }
    OPTIONS
        .iter()
        .filter(|risk| risk.program == base_name(program))
        .any(|risk| rest.iter().any(|word| risk.is_named_by(word)))
}

struct Risk {
    program: &'static str,
    /// Long options; every abbreviation counts.
    long: &'static [&'static str],
    /// Letters that count anywhere in a cluster of short options.
    short: &'static str,
    /// Words that count as they are.
    words: &'static [&'static str],
}

impl Risk {
    fn is_named_by(&self, word: &str) -> bool {
        is_abbreviation(word, self.long)
            || (is_cluster(word) && word.chars().skip(1).any(|c| self.short.contains(c)))
            || self
                .words
                .iter()
                .any(|risky| word == *risky || (risky.ends_with('=') && word.starts_with(risky)))
    }
}

const fn risk(
    program: &'static str,
    long: &'static [&'static str],
    short: &'static str,
    words: &'static [&'static str],
) -> Risk {
    Risk { program, long, short, words }
}

const OPTIONS: &[Risk] = &[
    risk(
        "git",
        &[
            "--exec-path",
            "--config-env",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--ext-diff",
            "--textconv",
            "--output",
            "--open-files-in-pager",
            "--extcmd",
            "--template",
            "--config",
        ],
        "cxO",
        &["config", "bisect", "filter-branch", "foreach", "difftool", "mergetool", "hook"],
    ),
    risk(
        "find",
        &[],
        "",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
    ),
    risk("fd", &["--exec", "--exec-batch"], "xX", &[]),
    risk(
        "tar",
        &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
        "IF",
        &[],
    ),
    risk("rg", &["--pre", "--hostname-bin"], "", &[]),
    risk("sort", &["--compress-program", "--output"], "o", &[]),
    risk("ssh", &[], "oFE", &[]),
    risk("scp", &[], "oFSD", &[]),
    risk("sftp", &[], "oFSD", &[]),
    risk("rsync", &["--rsh", "--rsync-path"], "e", &[]),
    risk("curl", &["--config", "--output", "--output-dir", "--dump-header"], "KoOD", &[]),
    risk("wget", &["--use-askpass", "--execute", "--config", "--output-document"], "eO", &[]),
    risk("man", &["--pager", "--html"], "PH", &[]),
    risk("npm", &["--script-shell", "--git", "--node-options"], "", &["exec", "x", "config"]),
    risk("cargo", &["--config"], "", &["install"]),
    risk("make", &["--eval"], "E", &["SHELL="]),
    risk("go", &[], "", &["-exec", "-toolexec", "-vettool", "-exec=", "-toolexec=", "-vettool="]),
    risk("gcc", &[], "B", &["-wrapper"]),
    risk("cc", &[], "B", &["-wrapper"]),
    risk("sed", &["--in-place"], "i", &[]),
    risk("vim", &["--cmd"], "c", &[]),
    risk("zip", &["--unzip-command"], "", &["-TT"]),
];

/// Is it a program that writes the files among its words?
pub(crate) fn writes_its_words(part: &Part) -> bool {
    part.words.first().is_some_and(|word| WRITERS.contains(&base_name(&word.text)))
}

const WRITERS: &[&str] = &[
    "cp", "mv", "tee", "touch", "mkdir", "rm", "rmdir", "ln", "dd", "install", "rsync", "chmod",
    "chown", "chgrp", "truncate", "shred", "sed", "tar", "unzip", "patch", "scp",
];
