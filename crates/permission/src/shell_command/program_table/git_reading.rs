//! Git sub-commands that only read, with their accepted options.
//!
//! Excluded are options that write (`--output`), start a program (`--ext-diff`, `--textconv`,
//! `--show-signature`, `-O` of grep) or name another repository.

use super::option_spec::OptionSpec;

#[derive(Debug)]
pub(crate) struct GitReading {
    pub(crate) sub: &'static str,
    pub(crate) options: OptionSpec,
    pub(crate) operands: GitOperands,
    /// It shows file contents, so a rule that hides a file must be considered.
    pub(crate) shows_content: bool,
}

/// The meaning of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitOperands {
    /// Revisions and paths.
    Anything,
    /// An operand would create something, unless an option asks for a list.
    NoneUnlessListed,
    None,
    /// At most one, which is shown; a second would be set.
    AtMostOne,
}

const fn reads(
    sub: &'static str,
    short: &'static str,
    long: &'static [&'static str],
) -> GitReading {
    GitReading {
        sub,
        options: OptionSpec { short, long },
        operands: GitOperands::Anything,
        shows_content: false,
    }
}

const fn shows(
    sub: &'static str,
    short: &'static str,
    long: &'static [&'static str],
) -> GitReading {
    GitReading { shows_content: true, ..reads(sub, short, long) }
}

const LOG_SHORT: &str = "abcghipqrstuvwzEFPRWn:S:G:L:l:U:O<M?C?B?D#";
const LOG: &[&str] = &[DIFF, REVISIONS, PRETTY];

pub(crate) const GIT_READINGS: &[GitReading] = &[
    shows("log", LOG_SHORT, LOG),
    shows("show", LOG_SHORT, LOG),
    shows("whatchanged", LOG_SHORT, LOG),
    shows("reflog", LOG_SHORT, LOG),
    shows("stash list", LOG_SHORT, LOG),
    shows("stash show", LOG_SHORT, &[DIFF, "include-untracked only-untracked"]),
    shows("diff", LOG_SHORT, &[DIFF, "cached staged merge-base no-index"]),
    shows("diff-tree", LOG_SHORT, &[DIFF, PRETTY, "stdin root no-commit-id cc"]),
    shows("diff-index", "mabpuzRM?C?B?", &[DIFF, "cached merge-base"]),
    shows("diff-files", "abpuzqRM?C?B?", &[DIFF]),
    shows("range-diff", LOG_SHORT, &[DIFF, "creation-factor: no-dual-color left-only"]),
    reads("var", "l", &[]),
    reads("rev-list", LOG_SHORT, &[REVISIONS, PRETTY, DIFF]),
    reads("shortlog", "nsecw?#", &[REVISIONS, "numbered summary email group:"]),
    reads(
        "status",
        "sbvzu?M?",
        &[
            "short branch porcelain? long verbose untracked-files? ignored? show-stash ahead-behind \
         no-ahead-behind renames no-renames find-renames? column? no-column ignore-submodules? \
         null",
        ],
    ),
    shows(
        "blame",
        "blcestfnpwL:M?C?",
        &[
            "abbrev: color-by-age color-lines date: first-parent incremental line-porcelain minimal \
         porcelain progress no-progress reverse root score-debug show-email show-name \
         show-number show-stats since:",
        ],
    ),
    reads(
        "ls-files",
        "cdoimskutvfzx:X<",
        &["abbrev? cached deduplicate deleted directory eol error-unmatch exclude: exclude-from< \
         exclude-per-directory< exclude-standard format: full-name ignored killed modified \
         no-empty-directory others recurse-submodules stage unmerged"],
    ),
    reads("ls-tree", "drtlz", &["abbrev? format: full-name full-tree long name-only name-status"]),
    shows("cat-file", "etspZ", &["batch? batch-check? batch-all-objects unordered"]),
    shows(
        "grep",
        "aiIwvhHEGFPnlLzZcoqpWr#e:f<A:B:C:m:",
        &["after-context: all-match and basic-regexp before-context: break cached color? column \
         context: count exclude-standard extended-regexp files-with-matches files-without-match \
         fixed-strings full-name function-context heading ignore-case invert-match line-number \
         max-count: max-depth: name-only no-color no-exclude-standard no-index no-recursive not \
         null only-matching or perl-regexp quiet recurse-submodules recursive show-function \
         text threads: untracked word-regexp"],
    ),
    reads(
        "rev-parse",
        "q",
        &["abbrev-ref? absolute-git-dir all branches? default: disambiguate: exclude: \
         git-common-dir git-dir git-path: glob: is-bare-repository is-inside-git-dir \
         is-inside-work-tree is-shallow-repository local-env-vars not path-format: quiet \
         remotes? short? show-cdup show-object-format? show-prefix \
         show-superproject-working-tree show-toplevel since: symbolic symbolic-full-name tags? \
         until: verify"],
    ),
    reads(
        "describe",
        "",
        &["abbrev: all always broken? candidates: contains debug dirty? exact-match exclude: \
         first-parent long match: tags"],
    ),
    reads("merge-base", "a", &["all fork-point independent is-ancestor octopus"]),
    reads("name-rev", "", &["all always exclude: name-only no-undefined refs:"]),
    reads("cherry", "v", &["abbrev? verbose"]),
    reads("count-objects", "vH", &["human-readable verbose"]),
    reads("check-ignore", "qvnz", &["no-index non-matching quiet stdin verbose"]),
    reads("check-attr", "az", &["all cached source: stdin"]),
    reads("for-each-ref", "spt", &[LISTS, "count: exclude: perl shell stdin tcl"]),
    reads(
        "show-ref",
        "dqs?",
        &["abbrev? branches dereference exists hash? head heads quiet tags verify"],
    ),
    GitReading {
        operands: GitOperands::AtMostOne,
        ..reads("symbolic-ref", "q", &["no-recurse quiet recurse short"])
    },
    GitReading {
        operands: GitOperands::NoneUnlessListed,
        ..reads("branch", "arvli", &[LISTS, "all list remotes show-current verbose"])
    },
    GitReading {
        operands: GitOperands::NoneUnlessListed,
        ..reads("tag", "lin?", &[LISTS, "list"])
    },
    GitReading { operands: GitOperands::None, ..reads("remote", "v", &["verbose"]) },
    reads("remote get-url", "", &["all push"]),
    GitReading {
        operands: GitOperands::None,
        ..reads("worktree list", "vz", &["porcelain verbose expire:"])
    },
    reads("notes list", "", &[]),
    shows("notes show", "", &[]),
    GitReading { operands: GitOperands::None, ..reads("bisect log", "", &[]) },
    GitReading { operands: GitOperands::None, ..reads("--version", "", &["build-options"]) },
    GitReading { operands: GitOperands::None, ..reads("version", "", &["build-options"]) },
];

/// Options of commands that list references. With a filter option, a word is a pattern.
const LISTS: &str = "abbrev? color? column? contains? format: ignore-case merged? no-abbrev no-color \
     no-column no-contains? no-merged? omit-empty points-at: sort:";

/// Options that turn a creating command into a list.
pub(crate) const GIT_LIST_OPTIONS: &[&str] =
    &["l", "list", "n", "contains", "no-contains", "merged", "no-merged", "points-at"];

const DIFF: &str = "abbrev? anchored: binary break-rewrites? cc check color? color-moved? color-moved-ws: \
     color-words? combined-all-paths compact-summary cumulative dd diff-algorithm: diff-filter: \
     diff-merges: dirstat? dirstat-by-file? dst-prefix: exit-code find-copies? \
     find-copies-harder find-object: find-renames? full-index function-context histogram \
     ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines: \
     ignore-space-at-eol ignore-space-change ignore-submodules? indent-heuristic \
     inter-hunk-context: irreversible-delete ita-invisible-in-index line-prefix: minimal \
     name-only name-status no-color no-color-moved no-diff-merges no-ext-diff \
     no-indent-heuristic no-patch no-prefix no-relative no-renames no-textconv numstat patch \
     patch-with-raw patch-with-stat patience pickaxe-all pickaxe-regex quiet raw relative? \
     rename-empty rotate-to: shortstat skip-to: src-prefix: stat? stat-count: stat-graph-width: \
     stat-name-width: stat-width: submodule? summary text unified: word-diff? word-diff-regex: \
     ws-error-highlight:";

const REVISIONS: &str = "after: all all-match ancestry-path? author: author-date-order basic-regexp before: bisect \
     boundary branches? cherry cherry-mark cherry-pick children committer: count date-order \
     default: dense do-walk exclude: exclude-hidden: extended-regexp first-parent fixed-strings \
     full-diff full-history glob: graph grep: grep-reflog: ignore-missing invert-grep left-only \
     left-right log-size max-age: max-count: max-parents: merge merges min-age: min-parents: \
     no-max-parents no-merges no-min-parents no-walk? not objects parents perl-regexp reflog \
     regexp-ignore-case remotes? remove-empty reverse right-only show-linear-break? show-pulls \
     simplify-by-decoration simplify-merges since: since-as-filter: single-worktree skip: \
     source sparse stdin tags? topo-order unpacked until: walk-reflogs";

const PRETTY: &str = "abbrev-commit clear-decorations date: decorate? decorate-refs: decorate-refs-exclude: \
     encoding: expand-tabs? follow format: header mailmap no-abbrev-commit no-decorate \
     no-expand-tabs no-mailmap no-notes no-use-mailmap notes? oneline pretty? relative-date \
     root show-notes? timestamp use-mailmap";
