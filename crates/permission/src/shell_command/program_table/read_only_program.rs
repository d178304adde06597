//! Programs that only read, with the options that would make them do more.

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOnlyProgram {
    pub(crate) program: &'static str,
    pub(crate) operands: ReadOnlyOperands,
    /// Long options that make it do more; every abbreviation counts.
    pub(crate) refused_long: &'static [&'static str],
    /// Letters that do, anywhere in a cluster.
    pub(crate) refused_short: &'static str,
    /// Letters of short options whose value is the next word, and is no file.
    pub(crate) values: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOnlyOperands {
    Text,
    Files,
    /// One file; a second would be written.
    OneFile,
    /// A pattern, then files, unless an option brings the pattern.
    PatternThenFiles,
}

const fn taking_text(program: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram {
        program,
        operands: ReadOnlyOperands::Text,
        refused_long: &[],
        refused_short: "",
        values: "",
    }
}

const fn taking_files(program: &'static str, values: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram {
        program,
        operands: ReadOnlyOperands::Files,
        refused_long: &[],
        refused_short: "",
        values,
    }
}

const fn taking_pattern(program: &'static str, values: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram {
        operands: ReadOnlyOperands::PatternThenFiles,
        ..taking_files(program, values)
    }
}

const fn with_refused(
    reader: ReadOnlyProgram,
    refused_long: &'static [&'static str],
    refused_short: &'static str,
) -> ReadOnlyProgram {
    ReadOnlyProgram { refused_long, refused_short, ..reader }
}

pub(crate) const READ_ONLY_PROGRAMS: &[ReadOnlyProgram] = &[
    taking_text("echo"),
    taking_text("pwd"),
    taking_text("whoami"),
    taking_text("id"),
    taking_text("uname"),
    taking_text("arch"),
    taking_text("nproc"),
    taking_text("uptime"),
    taking_text("true"),
    taking_text("false"),
    taking_text(":"),
    taking_text("sleep"),
    taking_text("groups"),
    taking_text("which"),
    taking_text("type"),
    taking_text("basename"),
    taking_text("dirname"),
    taking_text("tr"),
    taking_text("seq"),
    taking_text("expr"),
    taking_text("exit"),
    taking_text("return"),
    taking_text("break"),
    taking_text("continue"),
    taking_text("shift"),
    taking_text("yes"),
    taking_text("factor"),
    taking_text("tty"),
    taking_text("free"),
    taking_text("locale"),
    taking_text("getconf"),
    with_refused(taking_text("printf"), &[], "v"),
    with_refused(taking_text("wait"), &[], "p"),
    taking_files("ls", "I"),
    taking_files("cat", ""),
    taking_files("head", "nc"),
    taking_files("tail", "nc"),
    taking_files("wc", ""),
    taking_files("stat", "cf"),
    taking_files("du", "dtB"),
    taking_files("df", "Bt"),
    taking_files("nl", "bdfhilnsvw"),
    taking_files("tac", "s"),
    taking_files("rev", ""),
    taking_files("cut", "dfcb"),
    taking_files("paste", "d"),
    taking_files("join", "tj12aeov"),
    taking_files("column", "tsco"),
    taking_files("fmt", "w"),
    taking_files("realpath", ""),
    taking_files("readlink", ""),
    taking_files("md5sum", ""),
    taking_files("sha1sum", ""),
    taking_files("sha224sum", ""),
    taking_files("sha256sum", ""),
    taking_files("sha384sum", ""),
    taking_files("sha512sum", ""),
    taking_files("cksum", ""),
    taking_files("sum", ""),
    taking_files("b2sum", ""),
    taking_files("base64", "w"),
    taking_files("base32", "w"),
    taking_files("cmp", "nij"),
    taking_files("comm", ""),
    taking_files("fold", "w"),
    taking_files("expand", "t"),
    taking_files("unexpand", "t"),
    taking_files("strings", "n"),
    taking_files("od", "AjNtw"),
    taking_files("hexdump", "ns"),
    taking_files("tsort", ""),
    with_refused(taking_files("diff", "UCI"), &["--paginate", "--output"], "l"),
    with_refused(taking_files("file", "mPF"), &["--compile", "--uncompress"], "Cz"),
    with_refused(taking_files("tree", "LPI"), &["--output"], "oR"),
    with_refused(
        taking_files("sort", "ktS"),
        &["--output", "--compress-program", "--temporary-directory"],
        "oT",
    ),
    ReadOnlyProgram { operands: ReadOnlyOperands::OneFile, ..taking_files("uniq", "fsw") },
    with_refused(
        ReadOnlyProgram { operands: ReadOnlyOperands::OneFile, ..taking_files("xxd", "clgosn") },
        &[],
        "r",
    ),
    taking_pattern("grep", "efmABCdD"),
    taking_pattern("egrep", "efmABCdD"),
    taking_pattern("fgrep", "efmABCdD"),
    taking_pattern("jq", ""),
    with_refused(
        taking_pattern("rg", "efgmtTABCjr"),
        &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"],
        "z",
    ),
    with_refused(taking_pattern("fd", "edEtS"), &["--exec", "--exec-batch"], "xX"),
];
