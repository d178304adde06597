//! The shape of the list of options that turn a command into another one, and its plain half.
//!
//! A list of what is known: an option that runs a program, loads code, or writes a file of its own
//! choosing. Options that only read are not here.

use super::git::GIT;
use super::tools::TOOLS;

/// Options of one program.
#[derive(Debug)]
pub(crate) struct Risk {
    /// Its name.
    pub(crate) program: &'static str,
    /// Only behind these sub-commands; empty means always.
    pub(crate) subs: &'static [&'static str],
    /// Long options; every abbreviation counts.
    pub(crate) long: &'static [&'static str],
    /// Letters that count anywhere in a cluster of short options.
    pub(crate) short: &'static str,
    /// Words that count as they are; with an equals sign at the end, as a beginning.
    pub(crate) words: &'static [&'static str],
    /// Sub-commands that count, as the first word that is no option.
    pub(crate) commands: &'static [&'static str],
}

/// Nothing at all, to fill in.
pub(super) const NONE: Risk =
    Risk { program: "", subs: &[], long: &[], short: "", words: &[], commands: &[] };

/// Every list there is.
pub(crate) const RISKS: &[&[Risk]] = &[GIT, TOOLS, PLAIN];

/// Options whose value is mere text, so that whatever stands behind them is no option.
pub(crate) const VALUES: &[(&str, &[&str])] = &[
    ("git", &["-m", "--message", "--author", "--date", "--grep", "--since", "--until"]),
    ("gh", &["-t", "--title", "-b", "--body", "-F", "-m", "--notes"]),
    ("grep", &["-e", "-m", "-A", "-B", "-C"]),
    ("rg", &["-e", "-m", "-A", "-B", "-C", "-g", "-t"]),
    ("curl", &["-H", "--header", "-d", "--data", "-X", "-u"]),
    ("head", &["-n", "-c"]),
    ("tail", &["-n", "-c"]),
    ("make", &["-j"]),
    ("cargo", &["-j", "-p"]),
];

const PLAIN: &[Risk] = &[
    Risk {
        program: "find",
        words: &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
        ..NONE
    },
    Risk { program: "printf", short: "v", ..NONE },
    Risk { program: "fd", long: &["--exec", "--exec-batch"], short: "xX", ..NONE },
    Risk { program: "fdfind", long: &["--exec", "--exec-batch"], short: "xX", ..NONE },
    Risk { program: "rg", long: &["--pre", "--hostname-bin"], ..NONE },
    Risk { program: "ag", long: &["--pager"], ..NONE },
    Risk { program: "ack", long: &["--pager", "--ackrc"], ..NONE },
    Risk { program: "sort", long: &["--compress-program", "--output"], short: "oT", ..NONE },
    Risk { program: "shuf", long: &["--output"], short: "o", ..NONE },
    Risk { program: "split", long: &["--filter"], ..NONE },
    Risk { program: "tree", long: &["--output"], short: "o", ..NONE },
    Risk { program: "iconv", long: &["--output"], short: "o", ..NONE },
    Risk { program: "diff", long: &["--output"], ..NONE },
    Risk { program: "sdiff", long: &["--output", "--diff-program"], short: "o", ..NONE },
    Risk { program: "diff3", long: &["--diff-program"], ..NONE },
    Risk { program: "date", long: &["--set"], short: "s", ..NONE },
    Risk { program: "file", long: &["--compile"], short: "C", ..NONE },
    Risk { program: "sed", long: &["--file"], short: "f", ..NONE },
    Risk {
        program: "awk",
        long: &[
            "--file",
            "--include",
            "--load",
            "--exec",
            "--source",
            "--dump-variables",
            "--profile",
            "--pretty-print",
            "--debug",
        ],
        short: "fileEdopD",
        ..NONE
    },
    Risk {
        program: "gawk",
        long: &[
            "--file",
            "--include",
            "--load",
            "--exec",
            "--source",
            "--dump-variables",
            "--profile",
            "--pretty-print",
            "--debug",
        ],
        short: "fileEdopD",
        ..NONE
    },
    Risk { program: "mawk", short: "fW", ..NONE },
    Risk {
        program: "tar",
        long: &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
            "--index-file",
        ],
        short: "IF",
        ..NONE
    },
    Risk { program: "bsdtar", long: &["--use-compress-program"], ..NONE },
    Risk { program: "cpio", long: &["--rsh-command", "--to-stdout"], short: "F", ..NONE },
    Risk { program: "zip", long: &["--unzip-command"], short: "T", words: &["-TT"], ..NONE },
    Risk { program: "7z", words: &["-o="], ..NONE },
    Risk {
        program: "less",
        short: "kOo",
        words: &["+!=", "+|="],
        long: &["--lesskey-file", "--lesskey-src", "--log-file", "--LOG-FILE"],
        ..NONE
    },
    Risk {
        program: "man",
        long: &["--pager", "--html", "--config-file", "--preprocessor"],
        short: "PHCp",
        ..NONE
    },
    Risk { program: "vim", long: &["--cmd"], short: "csSuUwWi", words: &["+="], ..NONE },
    Risk { program: "vi", long: &["--cmd"], short: "csSuUwWi", words: &["+="], ..NONE },
    Risk { program: "view", long: &["--cmd"], short: "csSuUwWi", words: &["+="], ..NONE },
    Risk { program: "nvim", long: &["--cmd"], short: "csSuUwWil", words: &["+="], ..NONE },
    Risk { program: "ex", long: &["--cmd"], short: "csSuUwWi", words: &["+="], ..NONE },
    Risk {
        program: "emacs",
        long: &["--eval", "--execute", "--load", "--funcall", "--script", "--insert"],
        short: "lf",
        words: &["-eval", "-load", "-funcall"],
        ..NONE
    },
    Risk { program: "nano", long: &["--speller", "--backupdir", "--rcfile"], short: "sCf", ..NONE },
    Risk { program: "bat", long: &["--pager"], ..NONE },
    Risk { program: "delta", long: &["--pager"], ..NONE },
    Risk { program: "xxd", short: "r", ..NONE },
    Risk { program: "openssl", words: &["-out", "-engine", "-provider", "-config"], ..NONE },
    Risk {
        program: "gpg",
        long: &["--output", "--exec-path", "--photo-viewer", "--options"],
        short: "o",
        ..NONE
    },
    Risk { program: "ctags", long: &["--options", "--filter"], short: "fo", ..NONE },
    Risk { program: "tcpdump", short: "zwW", ..NONE },
    Risk { program: "sqlite3", words: &["-cmd", "-init"], ..NONE },
    Risk { program: "psql", long: &["--output", "--log-file"], short: "oL", ..NONE },
    Risk {
        program: "gdb",
        short: "x",
        words: &["-ex", "--ex", "-x", "--command", "-iex"],
        long: &["--eval-command", "--command"],
        ..NONE
    },
    Risk { program: "nc", long: &["--exec", "--sh-exec", "--lua-exec"], short: "ec", ..NONE },
    Risk { program: "ncat", long: &["--exec", "--sh-exec", "--lua-exec"], short: "ec", ..NONE },
    Risk { program: "socat", words: &["EXEC:=", "SYSTEM:=", "exec:=", "system:="], ..NONE },
    Risk { program: "crontab", words: &["-"], short: "er", ..NONE },
];
