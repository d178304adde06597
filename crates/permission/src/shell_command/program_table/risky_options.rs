//! Options that make a command do something else: the table's type, and its plain part.
//!
//! Lists options that run a program, load code, or write an arbitrary file. Options that only read
//! are not here.

use super::git_options::GIT_RISKY_OPTIONS;
use super::tool_options::TOOL_RISKY_OPTIONS;

#[derive(Debug)]
pub(crate) struct RiskyOptions {
    pub(crate) program: &'static str,
    /// Only after these sub-commands; empty means always.
    pub(crate) subs: &'static [&'static str],
    /// Long options, including every abbreviation.
    pub(crate) long: &'static [&'static str],
    /// Letters at any position of combined short options.
    pub(crate) short: &'static str,
    /// Words that match exactly, or as a prefix if they end in an equals sign.
    pub(crate) words: &'static [&'static str],
    /// Sub-commands that match as the first operand.
    pub(crate) commands: &'static [&'static str],
}

/// Empty, as a default.
pub(super) const NO_OPTIONS: RiskyOptions =
    RiskyOptions { program: "", subs: &[], long: &[], short: "", words: &[], commands: &[] };

pub(crate) const RISKY_OPTION_LISTS: &[&[RiskyOptions]] =
    &[GIT_RISKY_OPTIONS, TOOL_RISKY_OPTIONS, PLAIN];

/// Options whose value is only text, so that the next word is not an option.
pub(crate) const TEXT_VALUE_OPTIONS: &[(&str, &[&str])] = &[
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

const PLAIN: &[RiskyOptions] = &[
    RiskyOptions {
        program: "find",
        words: &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "printf", short: "v", ..NO_OPTIONS },
    RiskyOptions { program: "fd", long: &["--exec", "--exec-batch"], short: "xX", ..NO_OPTIONS },
    RiskyOptions {
        program: "fdfind",
        long: &["--exec", "--exec-batch"],
        short: "xX",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "rg", long: &["--pre", "--hostname-bin"], ..NO_OPTIONS },
    RiskyOptions { program: "ag", long: &["--pager"], ..NO_OPTIONS },
    RiskyOptions { program: "ack", long: &["--pager", "--ackrc"], ..NO_OPTIONS },
    RiskyOptions {
        program: "sort",
        long: &["--compress-program", "--output"],
        short: "oT",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "shuf", long: &["--output"], short: "o", ..NO_OPTIONS },
    RiskyOptions { program: "split", long: &["--filter"], ..NO_OPTIONS },
    RiskyOptions { program: "tree", long: &["--output"], short: "o", ..NO_OPTIONS },
    RiskyOptions { program: "iconv", long: &["--output"], short: "o", ..NO_OPTIONS },
    RiskyOptions { program: "diff", long: &["--output"], ..NO_OPTIONS },
    RiskyOptions {
        program: "sdiff",
        long: &["--output", "--diff-program"],
        short: "o",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "diff3", long: &["--diff-program"], ..NO_OPTIONS },
    RiskyOptions { program: "date", long: &["--set"], short: "s", ..NO_OPTIONS },
    RiskyOptions { program: "file", long: &["--compile"], short: "C", ..NO_OPTIONS },
    RiskyOptions { program: "sed", long: &["--file"], short: "f", ..NO_OPTIONS },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions { program: "mawk", short: "fW", ..NO_OPTIONS },
    RiskyOptions {
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
        ..NO_OPTIONS
    },
    RiskyOptions { program: "bsdtar", long: &["--use-compress-program"], ..NO_OPTIONS },
    RiskyOptions {
        program: "cpio",
        long: &["--rsh-command", "--to-stdout"],
        short: "F",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "zip",
        long: &["--unzip-command"],
        short: "T",
        words: &["-TT"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "7z", words: &["-o="], ..NO_OPTIONS },
    RiskyOptions {
        program: "less",
        short: "kOo",
        words: &["+!=", "+|="],
        long: &["--lesskey-file", "--lesskey-src", "--log-file", "--LOG-FILE"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "man",
        long: &["--pager", "--html", "--config-file", "--preprocessor"],
        short: "PHCp",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "vim",
        long: &["--cmd"],
        short: "csSuUwWi",
        words: &["+="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "vi",
        long: &["--cmd"],
        short: "csSuUwWi",
        words: &["+="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "view",
        long: &["--cmd"],
        short: "csSuUwWi",
        words: &["+="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "nvim",
        long: &["--cmd"],
        short: "csSuUwWil",
        words: &["+="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "ex",
        long: &["--cmd"],
        short: "csSuUwWi",
        words: &["+="],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "emacs",
        long: &["--eval", "--execute", "--load", "--funcall", "--script", "--insert"],
        short: "lf",
        words: &["-eval", "-load", "-funcall"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "nano",
        long: &["--speller", "--backupdir", "--rcfile"],
        short: "sCf",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "bat", long: &["--pager"], ..NO_OPTIONS },
    RiskyOptions { program: "delta", long: &["--pager"], ..NO_OPTIONS },
    RiskyOptions { program: "xxd", short: "r", ..NO_OPTIONS },
    RiskyOptions {
        program: "openssl",
        words: &["-out", "-engine", "-provider", "-config"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "gpg",
        long: &["--output", "--exec-path", "--photo-viewer", "--options"],
        short: "o",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "ctags", long: &["--options", "--filter"], short: "fo", ..NO_OPTIONS },
    RiskyOptions { program: "tcpdump", short: "zwW", ..NO_OPTIONS },
    RiskyOptions { program: "sqlite3", words: &["-cmd", "-init"], ..NO_OPTIONS },
    RiskyOptions { program: "psql", long: &["--output", "--log-file"], short: "oL", ..NO_OPTIONS },
    RiskyOptions {
        program: "gdb",
        short: "x",
        words: &["-ex", "--ex", "-x", "--command", "-iex"],
        long: &["--eval-command", "--command"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "nc",
        long: &["--exec", "--sh-exec", "--lua-exec"],
        short: "ec",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "ncat",
        long: &["--exec", "--sh-exec", "--lua-exec"],
        short: "ec",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "socat",
        words: &["EXEC:=", "SYSTEM:=", "exec:=", "system:="],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "crontab", words: &["-"], short: "er", ..NO_OPTIONS },
];
