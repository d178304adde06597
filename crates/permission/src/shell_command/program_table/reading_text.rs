//! Programs that show files or parts of them.

use super::read_only_program::{ReadOnlyOperands, ReadOnlyProgram, in_cell, may_act, reads_files};

pub(super) const TEXT_PROGRAMS: &[ReadOnlyProgram] = &[
    reads_files(
        "ls",
        "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        &["all almost-all author block-size: classify? color? context dereference \
         dereference-command-line directory escape file-type format: full-time \
         group-directories-first hide: hide-control-chars human-readable hyperlink? ignore: \
         ignore-backups indicator-style: inode kibibytes literal no-group numeric-uid-gid \
         quote-name quoting-style: recursive reverse show-control-chars si size sort: tabsize: \
         time: time-style: width: zero"],
    ),
    reads_files(
        "cat",
        "AbeEnstTuv",
        &["show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"],
    ),
    reads_files("head", "c:n:qvz#", &["bytes: lines: quiet silent verbose zero-terminated"]),
    reads_files(
        "tail",
        "c:n:s:qvzfF#",
        &["bytes: lines: follow? pid: quiet retry silent sleep-interval: verbose zero-terminated"],
    ),
    reads_files("wc", "clmwL", &["bytes chars lines words max-line-length total:"]),
    reads_files("stat", "c:fLt", &["format: printf: file-system dereference terse cached:"]),
    reads_files(
        "du",
        "0abB:cd:DhHklLmPsSt:xX<",
        &["all apparent-size block-size: bytes count-links dereference dereference-args exclude: \
         exclude-from< human-readable inodes max-depth: no-dereference null one-file-system \
         separate-dirs si summarize threshold: time? time-style: total"],
    ),
    reads_files(
        "df",
        "aB:hHiklPt:Tx:",
        &["all block-size: exclude-type: human-readable inodes local no-sync output? portability \
         print-type si total type:"],
    ),
    reads_files(
        "nl",
        "b:d:f:h:i:l:n:ps:v:w:",
        &[
            "body-numbering: section-delimiter: footer-numbering: header-numbering: line-increment: \
         join-blank-lines: number-format: no-renumber number-separator: starting-line-number: \
         number-width:",
        ],
    ),
    in_cell(reads_files("zcat", "fqv", &["force quiet verbose"])),
    reads_files("tac", "bs:r", &["before regex separator:"]),
    reads_files("rev", "", &[]),
    reads_files(
        "cut",
        "b:c:d:f:nsz",
        &["bytes: characters: delimiter: fields: complement only-delimited output-delimiter: \
         zero-terminated"],
    ),
    reads_files("paste", "d:sz", &["delimiters: serial zero-terminated"]),
    reads_files(
        "join",
        "a:e:i1:2:j:o:t:v:z",
        &["ignore-case check-order nocheck-order header zero-terminated"],
    ),
    reads_files(
        "column",
        "tc:s:o:xedJLmN:l:O:R:T:W:H:",
        &["table output-width: separator: output-separator: fillrows table-header-repeat \
         table-noheadings json keep-empty-lines table-columns: table-columns-limit: \
         table-order: table-right: table-truncate: table-wrap: table-hide:"],
    ),
    reads_files("fmt", "cg:p:stuw:#", &["width: goal: prefix: split-only"]),
    reads_files(
        "realpath",
        "eELmPqsz",
        &["canonicalize-existing canonicalize-missing logical physical quiet relative-to: \
         relative-base: strip no-symlinks zero"],
    ),
    reads_files(
        "readlink",
        "efmnqsvz",
        &["canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent \
         verbose zero"],
    ),
    sums("md5sum"),
    sums("sha1sum"),
    sums("sha224sum"),
    sums("sha256sum"),
    sums("sha384sum"),
    sums("sha512sum"),
    reads_files("b2sum", "btzl:", &[SUM_NAMES, "length:"]),
    reads_files("cksum", "a:l:z", &[SUM_NAMES, "algorithm: length: untagged raw"]),
    reads_files("sum", "rs", &["sysv"]),
    reads_files("base64", "diw:", &["decode ignore-garbage wrap:"]),
    reads_files("base32", "diw:", &["decode ignore-garbage wrap:"]),
    reads_files("cmp", "bi:ln:s", &["print-bytes ignore-initial: verbose bytes: quiet silent"]),
    reads_files(
        "comm",
        "123z",
        &["check-order nocheck-order output-delimiter: total zero-terminated"],
    ),
    reads_files("fold", "bsw:#", &["bytes spaces width:"]),
    reads_files("expand", "it:#", &["initial tabs:"]),
    reads_files("unexpand", "at:", &["all first-only tabs:"]),
    reads_files("tsort", "", &[]),
    // A word that starts with `@` names a file with further options.
    in_cell(reads_files(
        "strings",
        "an:t:oe:fwds:#",
        &["all bytes: data encoding: include-all-whitespace output-separator: print-file-name \
         radix:"],
    )),
    reads_files(
        "od",
        "A:abcdDefFhHiIj:lLN:oOsS?t:vw?xX",
        &["address-radix: endian: format: output-duplicates read-bytes: skip-bytes: strings? \
         width?"],
    ),
    reads_files(
        "hexdump",
        "bcCdoxve:f<n:s:",
        &["canonical format: format-file< length: no-squeezing one-byte-char one-byte-hex \
         one-byte-octal skip: two-bytes-decimal two-bytes-hex two-bytes-octal"],
    ),
    // `-l` starts `pr`.
    may_act(ReadOnlyProgram {
        walking_options: &["r", "recursive"],
        ..reads_files(
            "diff",
            "abBcC:dD:eEfF:hHiI:L:nNpqrsS:tTuU:wW:x:X<yZ#",
            &["brief color? context? ed exclude: exclude-from< expand-tabs from-file< \
             horizon-lines: ignore-all-space ignore-blank-lines ignore-case \
             ignore-file-name-case ignore-matching-lines: ignore-space-change \
             ignore-tab-expansion ignore-trailing-space initial-tab label: left-column minimal \
             new-file no-dereference normal rcs recursive report-identical-files \
             show-c-function show-function-line: side-by-side speed-large-files starting-file: \
             strip-trailing-cr suppress-blank-empty suppress-common-lines tabsize: text \
             to-file< unidirectional-new-file unified? width:"],
        )
    }),
    // `-C` compiles, `-z` starts programs, `-m` and `-f` name files with lists, `-p` sets times.
    in_cell(may_act(reads_files(
        "file",
        "bcdhiIkLlNn0rvF:e:",
        &["apple brief dereference exclude: exclude-quiet: extension keep-going mime \
         mime-encoding mime-type no-buffer no-dereference no-pad print0 raw separator:"],
    ))),
    // `-o` writes, and so does `-R` with a depth.
    in_cell(may_act(reads_files(
        "tree",
        "adfxL:P:I:pughDFqNQrtcUvnCASisJX",
        &["charset: device dirsfirst du filelimit: filesfirst gitignore ignore-case inodes \
         matchdirs metafirst noreport prune si sort: timefmt:"],
    ))),
    // `-o` writes, `-T` chooses where, and `--compress-program` starts a program.
    may_act(reads_files(
        "sort",
        "bcCdfghik:mMnrRsS:t:uVz",
        &["batch-size: buffer-size: check? debug dictionary-order field-separator: \
         general-numeric-sort human-numeric-sort ignore-case ignore-leading-blanks \
         ignore-nonprinting key: merge month-sort numeric-sort parallel: random-sort \
         random-source< reverse sort: stable unique version-sort zero-terminated"],
    )),
    may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::OneFile,
        ..reads_files(
            "uniq",
            "cdDf:is:uw:z#",
            &["all-repeated? check-chars: count group? ignore-case repeated skip-chars: \
             skip-fields: unique zero-terminated"],
        )
    }),
    may_act(reads_files(
        "shuf",
        "ei:n:rz",
        &["echo input-range: head-count: random-source< repeat zero-terminated"],
    )),
    in_cell(reads_files(
        "numfmt",
        "d:z",
        &["delimiter: field: format: from: from-unit: header? to: suffix:"],
    )),
];

/// `--check` would read any files that a list names.
const SUM_NAMES: &str = "binary tag text zero";

/// With `-c` a list names the files, so it counts as walking.
const fn sums(program: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram {
        walking_options: &["c", "check"],
        ..reads_files(program, "bctwz", &[SUM_NAMES, SUM_CHECK_NAMES])
    }
}

const SUM_CHECK_NAMES: &str = "check ignore-missing quiet status strict warn";
