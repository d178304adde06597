//! Options and sub-commands of git that run programs or write files of their own choosing.

use super::risk::{NONE, Risk};

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

/// The list.
pub(super) const GIT: &[Risk] = &[
    Risk {
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
        ..NONE
    },
    Risk {
        program: "git",
        subs: SUBS_WITH_OUTPUT,
        long: &["--output", "--ext-diff", "--textconv", "--output-directory", "--contents"],
        ..NONE
    },
    Risk { program: "git", subs: &["format-patch"], short: "o", ..NONE },
    Risk {
        program: "git",
        subs: &["grep"],
        long: &["--open-files-in-pager", "--textconv", "--ext-grep"],
        short: "O",
        ..NONE
    },
    Risk { program: "git", subs: &["cat-file"], long: &["--textconv", "--filters"], ..NONE },
    Risk { program: "git", subs: &["rebase"], long: &["--exec"], short: "x", ..NONE },
    Risk { program: "git", subs: &["bisect"], words: &["run"], ..NONE },
    Risk { program: "git", subs: &["submodule"], words: &["foreach", "add", "set-url"], ..NONE },
    Risk {
        program: "git",
        subs: &["fetch", "pull", "clone", "ls-remote", "fetch-pack", "remote"],
        long: &["--upload-pack", "--exec", "--template", "--config", "--separate-git-dir"],
        ..NONE
    },
    Risk { program: "git", subs: &["clone"], short: "cu", ..NONE },
    Risk { program: "git", subs: &["init"], long: &["--template", "--separate-git-dir"], ..NONE },
    Risk {
        program: "git",
        subs: &["push", "send-pack"],
        long: &["--receive-pack", "--exec"],
        ..NONE
    },
    Risk {
        program: "git",
        subs: &["archive"],
        long: &["--output", "--exec", "--remote"],
        short: "o",
        ..NONE
    },
    Risk { program: "git", subs: &["bundle"], words: &["create"], ..NONE },
    Risk {
        program: "git",
        subs: &["commit", "tag", "merge", "notes"],
        long: &["--template"],
        ..NONE
    },
    Risk { program: "git", subs: &["remote"], words: &["add", "set-url"], ..NONE },
    Risk { program: "git", subs: &["maintenance"], words: &["start", "register"], ..NONE },
    Risk { program: "git", subs: &["replay", "worktree"], words: &["add", "move"], ..NONE },
    Risk {
        program: "git",
        subs: &["interpret-trailers"],
        long: &["--in-place", "--trailer"],
        ..NONE
    },
    Risk { program: "git", subs: &["var", "help"], short: "w", long: &["--web"], ..NONE },
];
