//! Programs that only read, with the options that would make them do more.

/// One program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// Its name.
    pub(crate) program: &'static str,
    /// What its words are.
    pub(crate) operands: Operands,
    /// Long options that make it do more; every abbreviation counts.
    pub(crate) refused_long: &'static [&'static str],
    /// Letters that do, anywhere in a cluster.
    pub(crate) refused_short: &'static str,
    /// Letters of short options whose value is the next word, and is no file.
    pub(crate) values: &'static str,
}

/// What the words of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Text.
    Text,
    /// Files.
    Files,
    /// One file; a second would be written.
    OneFile,
    /// A pattern, then files, unless an option brings the pattern.
    PatternThenFiles,
}

const fn text(program: &'static str) -> Reader {
    Reader { program, operands: Operands::Text, refused_long: &[], refused_short: "", values: "" }
}

const fn files(program: &'static str, values: &'static str) -> Reader {
    Reader { program, operands: Operands::Files, refused_long: &[], refused_short: "", values }
}

const fn pattern(program: &'static str, values: &'static str) -> Reader {
    Reader { operands: Operands::PatternThenFiles, ..files(program, values) }
}

const fn without(
    reader: Reader,
    refused_long: &'static [&'static str],
    refused_short: &'static str,
) -> Reader {
    Reader { refused_long, refused_short, ..reader }
}

/// The list.
pub(crate) const READERS: &[Reader] = &[
    text("echo"),
    text("pwd"),
    text("whoami"),
    text("id"),
    text("uname"),
    text("arch"),
    text("nproc"),
    text("uptime"),
    text("true"),
    text("false"),
    text(":"),
    text("sleep"),
    text("groups"),
    text("which"),
    text("type"),
    text("basename"),
    text("dirname"),
    text("tr"),
    text("seq"),
    text("expr"),
    text("exit"),
    text("return"),
    text("break"),
    text("continue"),
    text("shift"),
    text("yes"),
    text("factor"),
    text("tty"),
    text("free"),
    text("locale"),
    text("getconf"),
    without(text("printf"), &[], "v"),
    without(text("wait"), &[], "p"),
    files("ls", "I"),
    files("cat", ""),
    files("head", "nc"),
    files("tail", "nc"),
    files("wc", ""),
    files("stat", "cf"),
    files("du", "dtB"),
    files("df", "Bt"),
    files("nl", "bdfhilnsvw"),
    files("tac", "s"),
    files("rev", ""),
    files("cut", "dfcb"),
    files("paste", "d"),
    files("join", "tj12aeov"),
    files("column", "tsco"),
    files("fmt", "w"),
    files("realpath", ""),
    files("readlink", ""),
    files("md5sum", ""),
    files("sha1sum", ""),
    files("sha224sum", ""),
    files("sha256sum", ""),
    files("sha384sum", ""),
    files("sha512sum", ""),
    files("cksum", ""),
    files("sum", ""),
    files("b2sum", ""),
    files("base64", "w"),
    files("base32", "w"),
    files("cmp", "nij"),
    files("comm", ""),
    files("fold", "w"),
    files("expand", "t"),
    files("unexpand", "t"),
    files("strings", "n"),
    files("od", "AjNtw"),
    files("hexdump", "ns"),
    files("tsort", ""),
    without(files("diff", "UCI"), &["--paginate", "--output"], "l"),
    without(files("file", "mPF"), &["--compile", "--uncompress"], "Cz"),
    without(files("tree", "LPI"), &["--output"], "oR"),
    without(
        files("sort", "ktS"),
        &["--output", "--compress-program", "--temporary-directory"],
        "oT",
    ),
    Reader { operands: Operands::OneFile, ..files("uniq", "fsw") },
    without(Reader { operands: Operands::OneFile, ..files("xxd", "clgosn") }, &[], "r"),
    pattern("grep", "efmABCdD"),
    pattern("egrep", "efmABCdD"),
    pattern("fgrep", "efmABCdD"),
    pattern("jq", ""),
    without(
        pattern("rg", "efgmtTABCjr"),
        &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"],
        "z",
    ),
    without(pattern("fd", "edEtS"), &["--exec", "--exec-batch"], "xX"),
];
