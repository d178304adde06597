//! Lines of programs that mostly read, with options that mostly do not matter.

use crate::random::Random;

/// A program, options of it that read and options of it that do more, and how many operands it likes.
struct LineProgram {
    name: &'static str,
    options: &'static [&'static str],
    operands: usize,
}

const fn program(
    name: &'static str,
    operands: usize,
    options: &'static [&'static str],
) -> LineProgram {
    LineProgram { name, options, operands }
}

const PROGRAMS: &[LineProgram] = &[
    program("cat", 2, &["-n", "-A", "-bs", "--number", "--show-all", "-u"]),
    program("head", 1, &["-n 1", "-n1", "-1", "-c 3", "-qn1", "--lines=1", "-z", "--lines 1"]),
    program("tail", 1, &["-n 1", "-n+1", "-1", "-c3", "-qv", "--lines=1", "--bytes=2"]),
    program(
        "sort",
        1,
        &[
            "-k1",
            "-k 2",
            "-n",
            "-rn",
            "-tk",
            "-t k",
            "-oout",
            "-o out",
            "-no out",
            "--output=out",
            "--outp=out",
            "-T src",
            "--compress-program=./evil",
            "--compress-p ./evil",
            "-S1k",
            "--files0-from=names0",
            "--files0-fr names0",
            "-u",
            "--key=1",
            "-bko out",
            "-z",
            "--random-source=a",
            "--random-source=../outside/secret",
            "--parallel=1",
            "-m",
            "-c",
        ],
    ),
    program("uniq", 1, &["-c", "-d", "-f 1", "-f1", "-w1", "-i", "--count", "--group", "b", "out"]),
    program(
        "wc",
        2,
        &["-l", "-lw", "--lines", "--files0-from=names0", "--files0-from names0", "-L", "-c"],
    ),
    program("cut", 1, &["-d: -f1", "-d ' ' -f 1", "-c1-2", "-b1", "-s -f1", "--fields=1"]),
    program(
        "ls",
        1,
        &["-la", "-l", "-R", "-1", "--color=never", "-d", "--sort=size", "-I k", "-Ik"],
    ),
    program("stat", 1, &["-c %s", "--format=%n", "-L", "-t", "--printf=%n"]),
    program(
        "du",
        1,
        &["-s", "-sh", "-a", "-d 1", "--files0-from=names0", "-X a", "-X ../outside/secret"],
    ),
    program("file", 1, &["-b", "-i", "-m a", "-f list", "-C", "-z", "-L", "--mime-type", "-p"]),
    program(
        "grep",
        1,
        &[
            "-r",
            "-n",
            "-e a",
            "-ea",
            "-f a",
            "-f ../outside/secret",
            "-f../outside/secret",
            "--file=../outside/secret",
            "-R",
            "-rn",
            "-A1",
            "--include=*.rs",
            "-c",
            "-l",
            "-E",
            "--exclude-from=../outside/secret",
            "-m1",
            "-P",
            "-rf a",
            "-z",
        ],
    ),
    program("egrep", 1, &["-n", "-c", "-e a"]),
    program(
        "rg",
        1,
        &[
            "-n",
            "-l",
            "--files",
            "--pre=./evil",
            "--pre ./evil",
            "-z",
            "-e a",
            "-f a",
            "-uu",
            "-L",
            "-f ../outside/secret",
            "--hidden",
            "-g '*.rs'",
            "--no-config",
            "--follow",
            "-j1",
        ],
    ),
    program(
        "find",
        1,
        &[
            "-name '*.rs'",
            "-type f",
            "-print0",
            "-fprint out",
            "-fls out",
            "-fprintf out x",
            "-exec cat {} +",
            "-exec grep a {} \\;",
            "-exec sort -o out {} \\;",
            "-exec ./evil \\;",
            "-execdir ls {} +",
            "-ok cat {} \\;",
            "-delete",
            "-newer a",
            "-newer ../outside/secret",
            "-maxdepth 1",
            "-files0-from names0",
            "-ls",
            "-printf '%p\\n'",
            "-follow",
            "-L",
            "-exec head -1 {} +",
            "-exec wc -l {} +",
            "-samefile a",
            "-newermt 2020-01-01",
        ],
    ),
    program(
        "sed",
        1,
        &[
            "-n 1p",
            "'s/a/b/'",
            "-e p",
            "-i s/a/b/",
            "'w out'",
            "-n 's/a/b/w out'",
            "'1e ls'",
            "'s/[/]/;s/e;p;/p;/p'",
            "-f list",
            "-n '$='",
            "'s/a/b/e'",
            "--in-place s/a/b/",
            "-E 's/(a)/\\1/'",
            "'r ../outside/secret'",
            "-s -n 2p",
            "'/a/,/b/p'",
            "'1{p;q}'",
            "-n '/[/]/p;w out'",
        ],
    ),
    program(
        "awk",
        1,
        &[
            "'{print $1}'",
            "'BEGIN{system(\"ls\")}'",
            "'{print > \"out\"}'",
            "-F: '{print $2}'",
            "'{print | \"cat\"}'",
            "'BEGIN{ARGV[1]=\"../outside/secret\"}{print}'",
            "-f list",
            "'BEGIN{while((getline x<\"../outside/secret\")>0)print x}'",
            "'NR==1'",
            "-v x=1 '{print x}'",
        ],
    ),
    program(
        "jq",
        1,
        &[
            ".",
            "-r .a",
            "-n 1",
            "-f list",
            "-L src .",
            "--rawfile x ../outside/secret '$x'",
            "-s .",
            "--slurpfile x a '$x'",
            "'import \"a\" as x; .'",
            "--arg a b '$a'",
            "-R .",
        ],
    ),
    program(
        "diff",
        2,
        &[
            "-u",
            "-q",
            "-r",
            "-l",
            "--paginate",
            "-N",
            "-x '*.rs'",
            "-X a",
            "--brief",
            "-U1",
            "--to-file=../outside/secret",
            "--from-file ../outside/secret",
        ],
    ),
    program("cmp", 2, &["-s", "-l", "-n 2", "-b"]),
    program("comm", 2, &["-12", "-3", "--total"]),
    program("xxd", 1, &["-p", "-l 4", "-l4", "-r", "-c 8", "-revert", "out", "-ps", "-s 1"]),
    program("od", 1, &["-c", "-An", "-tx1", "-N2", "-j 1"]),
    program("hexdump", 1, &["-C", "-n 4", "-f a", "-f ../outside/secret", "-e '1/1 \"%x\"'"]),
    program("strings", 1, &["-n 2", "-a", "@list", "-t x"]),
    program(
        "date",
        0,
        &[
            "+%s",
            "-u",
            "-d yesterday",
            "-r a",
            "-f a",
            "-f ../outside/secret",
            "-r ../outside/secret",
            "--date=now",
            "-I",
            "--iso-8601=seconds",
        ],
    ),
    program("tr", 0, &["a b", "-d a", "-s a"]),
    program("basename", 1, &["-a", "-s .rs"]),
    program("readlink", 1, &["-f", "-e"]),
    program("sha256sum", 1, &["-b", "-c", "--check", "--tag"]),
    program("base64", 1, &["-w0", "-d", "-w 0"]),
    program("nl", 1, &["-ba", "-b a", "-w3"]),
    program("paste", 2, &["-d,", "-s", "-d ,"]),
    program("tac", 1, &["-s a", "-b"]),
    program("column", 1, &["-t", "-s :", "-t -s:"]),
    program("echo", 2, &["-n", "-e"]),
    program("printf", 1, &["'%s\\n'", "-v PATH x", "-vIFS a", "'%d\\n'"]),
    program("test", 1, &["-f", "-v", "-n", "-d", "a =", "-v 'a[$(./evil)]'"]),
    program("ps", 0, &["aux", "-ef", "e", "auxe", "-eo pid,comm"]),
    program("id", 0, &["-u", "-un"]),
    program("env", 0, &["-i", "ls", "A=1 ls", "-S ls", "-u A cat a"]),
    program(
        "git",
        0,
        &["--version", "log --output=out", "status", "config --list", "grep -Ocat a"],
    ),
    program(
        "xargs",
        0,
        &["cat", "-n1 cat", "sort -o out", "./evil", "wc -l", "-I{} head -1 {}", "grep a"],
    ),
];

const OPERANDS: &[&str] = &[
    "a",
    "a",
    "a",
    "b",
    "src/x.rs",
    "src",
    ".",
    "k",
    "*",
    "src/*.rs",
    "./a",
    "\"a\"",
    "'b'",
    "[ab]",
    "?",
    "link",
    "src/away/secret",
    "../outside/secret",
    "../outside",
    "~/token",
    "\"$HOME/token\"",
    "$x",
    "\"$x\"",
    "${x:-a}",
    "-",
    "out",
    "src/away/*",
    "l*",
    "nothing",
    "*.json",
    "$(echo a)",
    "-oout",
    "{a,b}",
    "{a,../outside/secret}",
    "src/../a",
    "src/../../outside/secret",
    "./-oout",
    "n.json",
];

/// One line.
pub(crate) fn write_line(random: &mut Random) -> String {
    let mut line = String::new();
    if random.once_in(6) {
        line.push_str(random.pick(PREFIXES));
    }
    line.push_str(&write_command(random));
    for _ in 0..random.below(3) {
        line.push_str(random.pick(&[" | ", " | ", " | ", "; ", " && ", " || ", "\n", " |\n"]));
        line.push_str(&write_command(random));
    }
    if random.once_in(8) {
        line.push_str(random.pick(SUFFIXES));
    }
    line
}

const PREFIXES: &[&str] = &[
    "x=a; ",
    "x=../outside/secret; ",
    "x='-oout'; ",
    "cd src && ",
    "cd src; ",
    "cd .. && ",
    "(",
    "x=$(echo -oout); ",
    "LC_ALL=C ",
    "timeout 2 ",
    "nice ",
    "command ",
    "time ",
    "PATH=. ",
    "IFS=/; ",
    "RANDOM='a[$(./evil)]'; ",
    "((PATH=5)); ",
    "cat() { ./evil; }; ",
    "f() { cat a; }; f; ",
    "declare -a y='([$(./evil)0]=1)'; ",
    "for x in a b; do cat \"$x\"; done; ",
    "for x in *; do cat $x; done; ",
    "[ -f a ] && ",
    "! ",
    "n=08; echo $((10#$n)); ",
    "[[ $x -eq 1 ]]; ",
    "ls {PATH}>/dev/null; ",
    "export LANG=C; ",
    "set -e; ",
    "stdbuf -oL ",
    "x=b y=a; ",
];

const SUFFIXES: &[&str] = &[
    " 2>/dev/null",
    " > /dev/null 2>&1",
    " > out",
    " < a",
    " < ../outside/secret",
    " < link",
    " 2> out",
    " >> a",
    " <<'E'\n$(./evil)\nE",
    " <<E\n$(./evil)\nE",
    " <<< a",
    " &> out",
    " >| out",
    " <> out",
    " 3> out",
    " ; wait",
    "\n#x",
    " | tee out",
    " | while read -r l; do echo \"$l\"; done",
    "; : > out",
    " {x}> out",
    ")",
    " < src/*.rs",
];

fn write_command(random: &mut Random) -> String {
    let program = &PROGRAMS[random.below(PROGRAMS.len())];
    let mut words = vec![program.name.to_owned()];
    let pattern = matches!(program.name, "grep" | "egrep" | "rg") && !random.once_in(4);
    for _ in 0..random.below(3) {
        words.push(random.pick(program.options).to_owned());
    }
    if pattern {
        words.push(random.pick(&["a", "'a.*'", "b", "\"$x\"", "/etc"]).to_owned());
    }
    for _ in 0..program.operands {
        if !random.once_in(4) {
            words.push(random.pick(OPERANDS).to_owned());
        }
    }
    if program.name == "find" && words.len() > 2 {
        // Where to look comes first.
        let last = words.pop().unwrap();
        words.insert(1, last);
    }
    if random.once_in(6) {
        words.push(random.pick(program.options).to_owned());
    }
    words.join(" ")
}
