//! Programs that search files.
//!
//! Options that follow symlinks below a directory are excluded: a symlink in an untrusted tree may
//! lead anywhere.

use super::read_only_program::{ReadOnlyOperands, ReadOnlyProgram, in_cell, may_act, reads_files};

pub(super) const SEARCH_PROGRAMS: &[ReadOnlyProgram] = &[
    greps("grep"),
    greps("egrep"),
    greps("fgrep"),
    // `--pre`, `--hostname-bin` and `-z` start programs.
    in_cell(may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::PatternThenFiles,
        pattern_options: &["e", "f", "regexp", "file", "files", "type-list"],
        walking_options: &["*"],
        ..reads_files(
            "rg",
            "abcFhHiIlnNopPqsSuUvVwx.0A:B:C:E:M:d:e:f<g:j:m:r:t:T:",
            &[RIPGREP_FLAGS, RIPGREP_VALUES],
        )
    })),
    // `-x`, `-X` and `-l` start programs.
    in_cell(may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::PatternThenFiles,
        walking_options: &["*"],
        ..reads_files(
            "fd",
            "HIusigFap01qd:t:e:E:S:c:j:o:",
            &["absolute-path and: base-directory< case-sensitive changed-before: changed-within: \
             color: exact-depth: exclude: extension: fixed-strings full-path glob hidden \
             ignore-case ignore-file< max-depth: max-results: min-depth: no-ignore \
             no-ignore-parent no-ignore-vcs one-file-system print0 prune quiet regex \
             search-path< size: threads: type: unrestricted"],
        )
    })),
];

const fn greps(program: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram {
        operands: ReadOnlyOperands::PatternThenFiles,
        pattern_options: &["e", "f", "regexp", "file"],
        walking_options: &["r", "d", "recursive", "directories"],
        ..reads_files(
            program,
            "acbEFGhHiIlLnoPqrsTUvwxyzZA:B:C:D:d:e:f<m:#",
            &["after-context: basic-regexp before-context: binary binary-files: byte-offset \
             color? colour? context: count devices: directories: exclude: exclude-dir: \
             exclude-from< extended-regexp file< files-with-matches files-without-match \
             fixed-strings ignore-case include: initial-tab invert-match label: line-buffered \
             line-number line-regexp max-count: no-filename no-ignore-case no-messages null \
             null-data only-matching perl-regexp quiet recursive regexp: silent text \
             with-filename word-regexp"],
        )
    }
}

const RIPGREP_FLAGS: &str = "auto-hybrid-regex block-buffered byte-offset case-sensitive column count count-matches \
     crlf debug files files-with-matches files-without-match fixed-strings \
     glob-case-insensitive heading hidden ignore-case include-zero invert-match json \
     line-buffered line-number line-regexp max-columns-preview mmap multiline multiline-dotall \
     no-column no-config no-filename no-heading no-hidden no-ignore no-ignore-dot \
     no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent \
     no-ignore-vcs no-line-number no-messages no-mmap no-require-git no-unicode null null-data \
     one-file-system only-matching passthru pcre2 pretty quiet smart-case stats text trim \
     type-list unrestricted vimgrep with-filename word-regexp";

const RIPGREP_VALUES: &str = "after-context: before-context: color: colors: context: context-separator: dfa-size-limit: \
     encoding: engine: field-context-separator: field-match-separator: file< glob: iglob: \
     ignore-file< max-columns: max-count: max-depth: max-filesize: path-separator: \
     regex-size-limit: regexp: replace: sort: sortr: threads: type: type-add: type-clear: \
     type-not:";
