//! Programs and builtins that print their arguments or information about the system.

use super::read_only_program::{
    ReadOnlyOperands, ReadOnlyProgram, in_cell, may_act, takes_any_text, takes_text,
};

pub(super) const SYSTEM_PROGRAMS: &[ReadOnlyProgram] = &[
    takes_any_text("echo"),
    takes_any_text("true"),
    takes_any_text("false"),
    takes_any_text(":"),
    takes_any_text("expr"),
    takes_any_text("seq"),
    takes_any_text("sleep"),
    takes_any_text("yes"),
    takes_any_text("factor"),
    takes_any_text("type"),
    takes_any_text("exit"),
    takes_any_text("return"),
    takes_any_text("break"),
    takes_any_text("continue"),
    takes_any_text("shift"),
    takes_text("pwd", "LP", &["logical physical"]),
    takes_text("whoami", "", &[]),
    takes_text("id", "agGnruzZ", &["context group groups name real user zero"]),
    takes_text(
        "uname",
        "asnrvmpio",
        &["all kernel-name nodename kernel-release kernel-version machine processor \
         hardware-platform operating-system"],
    ),
    takes_text("arch", "", &[]),
    takes_text("nproc", "", &["all ignore:"]),
    takes_text("uptime", "ps", &["pretty since"]),
    takes_text("groups", "", &[]),
    takes_text("which", "as", &[]),
    takes_text("basename", "as:z", &["multiple suffix: zero"]),
    takes_text("dirname", "z", &["zero"]),
    takes_text("tr", "cCdst", &["complement delete squeeze-repeats truncate-set1"]),
    takes_text("tty", "s", &["silent quiet"]),
    takes_text(
        "free",
        "bkmghltwvs:c:",
        &["bytes kilo mega giga tera kibi mebi gibi human wide lohi total line committed si \
         seconds: count:"],
    ),
    takes_text("locale", "amckv", &["all-locales charmaps category-name keyword-name"]),
    // With `-v` it starts another program.
    may_act(takes_text("getconf", "a", &[])),
    // With `-v` it sets a variable, whose subscript is evaluated.
    may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::TextOnly,
        ..takes_text("printf", "", &[])
    }),
    may_act(takes_text("wait", "nf", &[])),
    // An argument would set the name.
    may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::None,
        ..takes_text("hostname", "s", &["short"])
    }),
    may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::Format,
        ..takes_text(
            "date",
            "d:r<uRI?",
            &["date: reference< utc universal rfc-email rfc-2822 iso-8601? rfc-3339: resolution"],
        )
    }),
    in_cell(takes_text(
        "lscpu",
        "abcehjpxyBC?",
        &["all bytes online offline json hex extended? parse? caches?"],
    )),
    in_cell(may_act(ReadOnlyProgram {
        operands: ReadOnlyOperands::None,
        ..takes_text("who", "abdHlmpqrsTtuw", &["all boot count heading users"])
    })),
    in_cell(may_act(takes_text(
        "pgrep",
        "lafxcinovd:g:G:P:s:t:u:U:r:",
        &["list-name list-full full exact count ignore-case newest oldest inverse delimiter: \
         pgroup: group: parent: session: terminal: euid: uid: runstates: older:"],
    ))),
    // `-K` closes connections, `-D` writes a file, `-N` switches to another network.
    in_cell(may_act(takes_text(
        "ss",
        "aleompitudwxS460nrHOEsMf:A:",
        &["all listening extended options memory processes info tcp udp raw unix numeric resolve \
         no-header oneline summary ipv4 ipv6 family: query:"],
    ))),
    in_cell(may_act(takes_text("netstat", "tulnpaxswrieo46W", &["numeric tcp udp listening"]))),
    // `-D` writes a cache, `-k` and `-A` name files of the system.
    in_cell(may_act(takes_text("lsof", "i?nPp:tlu:c:as?UR", &[]))),
    in_cell(takes_text("printenv", "0", &["null"])),
];
