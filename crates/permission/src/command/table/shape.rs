//! Programs that change the files they name, with every option they take: how their words divide
//! into options, values and files.

/// One program.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) program: &'static str,
    /// Letters without a value.
    pub(crate) flags: &'static str,
    /// Letters whose value is the next word, and what it is.
    pub(crate) values: &'static [(char, Value)],
    /// Long options without a value, or with an optional one behind an equals sign.
    pub(crate) long: &'static [&'static str],
    /// What its other words are.
    pub(crate) layout: Layout,
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text,
    /// A file that is read.
    Read,
    /// A file that is written, or a directory that is written to.
    Write,
}

/// What the words are that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All are written.
    Written,
    /// All are read.
    Read,
    /// The first is a mode or an owner, the others are written.
    ModeThenWritten,
    /// The last is written, or a directory an option names; the others are read.
    Copied,
    /// The same, and the others are gone afterwards.
    Moved,
    /// An archive, taken apart or put together.
    Archive,
}

const NONE: Shape =
    Shape { program: "", flags: "", values: &[], long: &[], layout: Layout::Written };

/// The list.
pub(crate) const SHAPES: &[Shape] = &[
    Shape {
        program: "rm",
        flags: "rRfivdI",
        long: &["--recursive", "--force", "--verbose", "--dir", "--one-file-system"],
        ..NONE
    },
    Shape {
        program: "rmdir",
        flags: "pv",
        long: &["--parents", "--verbose", "--ignore-fail-on-non-empty"],
        ..NONE
    },
    Shape {
        program: "mkdir",
        flags: "pv",
        values: &[('m', Value::Text)],
        long: &["--parents", "--verbose"],
        ..NONE
    },
    Shape {
        program: "touch",
        flags: "acfhm",
        values: &[('d', Value::Text), ('t', Value::Text), ('r', Value::Read)],
        long: &["--no-create", "--no-dereference"],
        ..NONE
    },
    Shape { program: "tee", flags: "aip", long: &["--append", "--ignore-interrupts"], ..NONE },
    Shape { program: "unlink", ..NONE },
    Shape {
        program: "truncate",
        flags: "co",
        values: &[('s', Value::Text), ('r', Value::Read)],
        long: &["--no-create", "--io-blocks"],
        ..NONE
    },
    Shape {
        program: "cp",
        flags: "abdfiHLnPpRrTuvxZ",
        values: &[('S', Value::Text), ('t', Value::Write)],
        long: &["--archive", "--recursive", "--force", "--verbose", "--no-clobber", "--update"],
        layout: Layout::Copied,
    },
    Shape {
        program: "mv",
        flags: "bfinTuvZ",
        values: &[('S', Value::Text), ('t', Value::Write)],
        long: &["--force", "--verbose", "--no-clobber", "--update", "--interactive"],
        layout: Layout::Moved,
    },
    Shape {
        program: "install",
        flags: "bcCDpTvZ",
        values: &[
            ('m', Value::Text),
            ('o', Value::Text),
            ('g', Value::Text),
            ('S', Value::Text),
            ('t', Value::Write),
        ],
        long: &["--verbose", "--preserve-timestamps"],
        layout: Layout::Copied,
    },
    Shape {
        program: "chmod",
        flags: "Rcfv",
        long: &["--recursive", "--verbose", "--changes", "--silent"],
        layout: Layout::ModeThenWritten,
        ..NONE
    },
    Shape {
        program: "chown",
        flags: "RcfvhHLP",
        long: &["--recursive", "--verbose", "--changes", "--no-dereference"],
        layout: Layout::ModeThenWritten,
        ..NONE
    },
    Shape {
        program: "chgrp",
        flags: "RcfvhHLP",
        long: &["--recursive", "--verbose", "--changes", "--no-dereference"],
        layout: Layout::ModeThenWritten,
        ..NONE
    },
    Shape {
        program: "sort",
        flags: "bcCdfghiMmnrRsuVz",
        values: &[('k', Value::Text), ('t', Value::Text), ('S', Value::Text), ('o', Value::Write)],
        long: &["--unique", "--reverse", "--numeric-sort", "--stable"],
        layout: Layout::Read,
    },
    Shape {
        program: "tar",
        flags: "xctzvjJpka",
        values: &[('f', Value::Text), ('C', Value::Text)],
        long: &["--gzip", "--verbose", "--extract", "--create", "--list"],
        layout: Layout::Archive,
    },
];
