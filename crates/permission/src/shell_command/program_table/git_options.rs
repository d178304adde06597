//! Options and sub-commands of git that run programs or write arbitrary files.

use super::risky_options::{NO_OPTIONS, RiskyOptions};

const SUBS_WITH_OUTPUT: &[&str] = &[
    "log",
    "diff",
    "show",
    "diff-tree",
    "diff-index",
    "diff-files",
    "shortlog",
    "stash",
    "whatchanged",
    "range-diff",
    "format-patch",
    "reflog",
    "rev-list",
    "blame",
];

pub(super) const GIT_RISKY_OPTIONS: &[RiskyOptions] = &[
    RiskyOptions {
        program: "git",
        long: &["--exec-path", "--config-env", "--git-dir", "--work-tree"],
        commands: &[
            "config",
            "filter-branch",
            "difftool",
            "mergetool",
            "hook",
            "daemon",
            "instaweb",
            "send-email",
            "credential",
            "svn",
            "p4",
            "fast-import",
            "http-backend",
            "shell",
            "gui",
            "citool",
            "web--browse",
            "upload-pack",
            "receive-pack",
            "upload-archive",
        ],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: SUBS_WITH_OUTPUT,
        long: &["--output", "--ext-diff", "--textconv", "--output-directory", "--contents"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "git", subs: &["format-patch"], short: "o", ..NO_OPTIONS },
    RiskyOptions {
        program: "git",
        subs: &["grep"],
        long: &["--open-files-in-pager", "--textconv", "--ext-grep"],
        short: "O",
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["cat-file"],
        long: &["--textconv", "--filters"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "git", subs: &["rebase"], long: &["--exec"], short: "x", ..NO_OPTIONS },
    RiskyOptions { program: "git", subs: &["bisect"], words: &["run"], ..NO_OPTIONS },
    RiskyOptions {
        program: "git",
        subs: &["apply", "am"],
        long: &["--unsafe-paths", "--directory"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["submodule"],
        words: &["foreach", "add", "set-url"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["fetch", "pull", "clone", "ls-remote", "fetch-pack", "remote"],
        long: &["--upload-pack", "--exec", "--template", "--config", "--separate-git-dir"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "git", subs: &["clone"], short: "cu", ..NO_OPTIONS },
    RiskyOptions {
        program: "git",
        subs: &["init"],
        long: &["--template", "--separate-git-dir"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["push", "send-pack"],
        long: &["--receive-pack", "--exec"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["archive"],
        long: &["--output", "--exec", "--remote"],
        short: "o",
        ..NO_OPTIONS
    },
    RiskyOptions { program: "git", subs: &["bundle"], words: &["create"], ..NO_OPTIONS },
    RiskyOptions {
        program: "git",
        subs: &["commit", "tag", "merge", "notes"],
        long: &["--template"],
        ..NO_OPTIONS
    },
    RiskyOptions { program: "git", subs: &["remote"], words: &["add", "set-url"], ..NO_OPTIONS },
    RiskyOptions {
        program: "git",
        subs: &["maintenance"],
        words: &["start", "register"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["replay", "worktree"],
        words: &["add", "move"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["interpret-trailers"],
        long: &["--in-place", "--trailer"],
        ..NO_OPTIONS
    },
    RiskyOptions {
        program: "git",
        subs: &["var", "help"],
        short: "w",
        long: &["--web"],
        ..NO_OPTIONS
    },
];
