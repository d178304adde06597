//! Programs that change the files they name, with all their options: how words divide into options,
//! values and files.

#[derive(Debug)]
pub(crate) struct FileChangingProgram {
    pub(crate) program: &'static str,
    /// Options without a value.
    pub(crate) flags: &'static str,
    /// Options whose value is the next word, with its meaning.
    pub(crate) values: &'static [(char, OptionValueUse)],
    /// Long options without a value, or with an optional one after an equals sign.
    pub(crate) long: &'static [&'static str],
    pub(crate) layout: OperandLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionValueUse {
    Text,
    Read,
    /// A file that is written, or a directory that is written to.
    Write,
}

/// The meaning of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandLayout {
    Written,
    Read,
    /// The first is a mode or an owner, the others are written.
    ModeThenWritten,
    /// The last one, or a directory given by an option, is written; the others are read.
    Copied,
    /// The same, but the others are removed.
    Moved,
    /// An archive, extracted or created.
    Archive,
}

const NONE: FileChangingProgram = FileChangingProgram {
    program: "",
    flags: "",
    values: &[],
    long: &[],
    layout: OperandLayout::Written,
};

pub(crate) const FILE_CHANGING_PROGRAMS: &[FileChangingProgram] = &[
    FileChangingProgram {
        program: "rm",
        flags: "rRfivdI",
        long: &["--recursive", "--force", "--verbose", "--dir", "--one-file-system"],
        ..NONE
    },
    FileChangingProgram {
        program: "rmdir",
        flags: "pv",
        long: &["--parents", "--verbose", "--ignore-fail-on-non-empty"],
        ..NONE
    },
    FileChangingProgram {
        program: "mkdir",
        flags: "pv",
        values: &[('m', OptionValueUse::Text)],
        long: &["--parents", "--verbose"],
        ..NONE
    },
    FileChangingProgram {
        program: "touch",
        flags: "acfhm",
        values: &[
            ('d', OptionValueUse::Text),
            ('t', OptionValueUse::Text),
            ('r', OptionValueUse::Read),
        ],
        long: &["--no-create", "--no-dereference"],
        ..NONE
    },
    FileChangingProgram {
        program: "tee",
        flags: "aip",
        long: &["--append", "--ignore-interrupts"],
        ..NONE
    },
    FileChangingProgram { program: "unlink", ..NONE },
    FileChangingProgram {
        program: "truncate",
        flags: "co",
        values: &[('s', OptionValueUse::Text), ('r', OptionValueUse::Read)],
        long: &["--no-create", "--io-blocks"],
        ..NONE
    },
    FileChangingProgram {
        program: "cp",
        flags: "abdfiHLnPpRrTuvxZ",
        values: &[('S', OptionValueUse::Text), ('t', OptionValueUse::Write)],
        long: &["--archive", "--recursive", "--force", "--verbose", "--no-clobber", "--update"],
        layout: OperandLayout::Copied,
    },
    FileChangingProgram {
        program: "mv",
        flags: "bfinTuvZ",
        values: &[('S', OptionValueUse::Text), ('t', OptionValueUse::Write)],
        long: &["--force", "--verbose", "--no-clobber", "--update", "--interactive"],
        layout: OperandLayout::Moved,
    },
    FileChangingProgram {
        program: "install",
        flags: "bcCDpTvZ",
        values: &[
            ('m', OptionValueUse::Text),
            ('o', OptionValueUse::Text),
            ('g', OptionValueUse::Text),
            ('S', OptionValueUse::Text),
            ('t', OptionValueUse::Write),
        ],
        long: &["--verbose", "--preserve-timestamps"],
        layout: OperandLayout::Copied,
    },
    FileChangingProgram {
        program: "chmod",
        flags: "Rcfv",
        long: &["--recursive", "--verbose", "--changes", "--silent"],
        layout: OperandLayout::ModeThenWritten,
        ..NONE
    },
    FileChangingProgram {
        program: "chown",
        flags: "RcfvhHLP",
        long: &["--recursive", "--verbose", "--changes", "--no-dereference"],
        layout: OperandLayout::ModeThenWritten,
        ..NONE
    },
    FileChangingProgram {
        program: "chgrp",
        flags: "RcfvhHLP",
        long: &["--recursive", "--verbose", "--changes", "--no-dereference"],
        layout: OperandLayout::ModeThenWritten,
        ..NONE
    },
    FileChangingProgram {
        program: "sort",
        flags: "bcCdfghiMmnrRsuVz",
        values: &[
            ('k', OptionValueUse::Text),
            ('t', OptionValueUse::Text),
            ('S', OptionValueUse::Text),
            ('o', OptionValueUse::Write),
        ],
        long: &["--unique", "--reverse", "--numeric-sort", "--stable"],
        layout: OperandLayout::Read,
    },
    FileChangingProgram {
        program: "tar",
        flags: "xctzvjJpka",
        values: &[('f', OptionValueUse::Text), ('C', OptionValueUse::Text)],
        long: &["--gzip", "--verbose", "--extract", "--create", "--list"],
        layout: OperandLayout::Archive,
    },
];
