//! The shell is read as bash reads it: what bash evaluates, assigns or shadows asks.

use crate::case::{Allow, Ask, bash};

fn all(expected: crate::case::Outcome, commands: &[&str]) {
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            let (got, why) = bash(&[], command);
            (got != expected).then(|| format!("{command}: {got:?} {why}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn variables_that_bash_gives_a_meaning_are_asked_about() {
    all(
        Ask,
        &[
            "RANDOM='a[$(touch p)]'",
            "SRANDOM='a[$(touch p)]'",
            "HISTCMD='a[$(touch p)]'",
            "OPTIND='a[$(touch p)]'",
            "SECONDS=1; ls",
            "LINENO=1; ls",
            "PS4='$(touch p)'; ls",
            "IFS=/; ls $x",
            "PATH=.; ls",
            "LD_PRELOAD=./x.so; ls",
            "BASH_ENV=x; ls",
            "DIRSTACK=x; ls",
            "MAPFILE=x; ls",
            "_=x; ls",
            "TIMEFORMAT=x; ls",
            "((PATH=5)); ls",
            "echo $((PATH=5)); ls",
            "echo $((PATH++)); ls",
            "((++PATH)); ls",
            "((PATH+=5)); ls",
            "for ((PATH=5; PATH<6; PATH++)); do ls; done",
            "for PATH in 5; do ls; done",
            "for RANDOM in 'a[$(touch p)]'; do ls; done",
            "ls {PATH}>/dev/null; ls",
            "ls {PATH}</dev/null",
            "ls 2>/dev/null {PATH}>&2",
            "echo ${x:$((PATH=5))}; ls",
            "a[PATH=5]=1; ls",
            "echo ${a[PATH=5]}; ls",
        ],
    );
    all(
        Allow,
        &[
            "x=5; echo $((x+1))",
            "i=0; ((i++)); echo $i",
            "for ((i=0; i<3; i++)); do echo $i; done",
            "n=08; echo $((10#$n+1))",
            "echo $((2#101 + 0x1f))",
        ],
    );
}

#[test]
fn declarations_with_attributes_or_unknown_values_are_asked_about() {
    all(
        Ask,
        &[
            "declare -a x='([$(touch p)0]=1)'",
            "a=(1 2); declare a='($(touch p))'",
            "declare -i x='a[$(touch p)]'",
            "typeset -i x=1; x='a[$(touch p)]'",
            "declare x=$y",
            "declare \"$x\"",
            "readonly -a x='([$(touch p)0]=1)'",
            "f() { local x=$1; }; f 1",
            "export x=$y",
            "declare -n x=y",
            "declare -A m=([$(touch p)]=1)",
        ],
    );
    all(Allow, &["declare x=5; echo $x", "readonly v=abc; echo $v", "declare -r y='a b'"]);
}

#[test]
fn operands_of_tests_are_asked_about_where_bash_evaluates_them() {
    all(
        Ask,
        &[
            "test -v 'a[$(touch p)]'",
            "[ -v 'a[$(touch p)]' ]",
            "x=$(cat f); test \"$x\" 'a[$(touch p)]'",
            "x=$(cat f); [ \"$x\" 'a[$(touch p)]' ]",
            "x=$(cat f); y=$(cat g); [ \"$x\" \"$y\" ]",
            "x=$(cat f); [ ! \"$x\" 'a[$(touch p)]' ]",
            "[[ $x -eq 1 ]]",
            "[[ 'a[$(touch p)]' -eq 1 ]]",
            "[[ -v 'a[$(touch p)]' ]]",
            "[[ -v $x ]]",
            "[[ -R x[$y] ]]",
            "((x=y))",
            "echo $((y))",
            "test -R 'a[$(touch p)]'",
            "[ $x ]",
            "[ a -o $x ]",
        ],
    );
    all(
        Allow,
        &[
            "[ -f \"$f\" ] && echo yes",
            "[ \"$x\" = y ] && echo yes",
            "[ -n \"$x\" ] || echo no",
            "[ ! -d \"$x\" ] && echo none",
            "[ \"$(git rev-parse HEAD)\" != \"$x\" ] && echo moved",
            "[ $? -eq 0 ] && echo ok",
            "[ $# -gt 0 ] && echo ok",
            "test -z \"$x\" && echo empty",
            "[ -f a -a -f b ]",
            "[[ $x == y* ]] && echo yes",
            "[[ -z $x ]]",
        ],
    );
}

#[test]
fn functions_and_aliases_do_not_take_the_place_of_programs() {
    all(
        Ask,
        &[
            "cd() { :; }; cd a/b; ls",
            "ls() { echo; }; ls",
            "git() { echo; }; git status",
            "test() { echo; }; test x",
            "command() { echo; }; command ls",
            "function cat { echo; }; cat x",
            "alias ls='rm -rf x'; ls",
            "shopt -s expand_aliases; ls",
            "enable -n cd; ls",
            "hash -p ./x ls; ls",
            "xargs() { :; }; ls",
        ],
    );
    all(Allow, &["f() { echo hi; }; f", "show() { cat a; }; show"]);
}

/// Options that write, start something, or read what was not judged.
const ACTING_OPTIONS: &[&str] = &[
    "sort -tk -oout a",
    "sort -k1 -oout a",
    "sort -no out a",
    "sort --outp=out a",
    "sort -T /etc a",
    "sort --compress-program=x a",
    "sort --files0-from=list",
    "sort --random-source=/etc/x a",
    "wc --files0-from=list",
    "du --files0-from=list",
    "file -m magic a",
    "file -f list",
    "file -C -m x",
    "file -z a",
    "date -f list",
    "date -s now",
    "date 01010000",
    "date --se=now",
    "uniq a b",
    "uniq a -c b",
    "xxd a b",
    "xxd -r a",
    "xxd -revert a",
    "sort -o$ a",
    "sort -oout$ a",
    "sort a -oout$ \"b\"[a]",
    "xxd -r$ a",
    "date -s$ now",
    "xxd a -l4",
    "xxd a -c 5",
    "xxd a -l",
    "tree -o out",
    "tree -R -L 1",
    "diff -l a b",
    "diff --to-file=/etc/passwd a",
    "rg --pre x y",
    "rg --pre=x y",
    "rg -z y",
    "rg --hostname-bin=x y",
    "rg --files /etc",
    "rg -f /etc/passwd",
    "fd -x rm",
    "fd -l x",
    "grep -f /etc/passwd a",
    "grep -rf/etc/passwd a",
    "grep --exclude-from=/etc/passwd x a",
    "jq -f prog.jq a.json",
    "jq -L . '.a' a.json",
    "jq 'import \"x\" as m; .' a",
    "jq 'include \"x\"; .' a",
    "jq --rawfile x /etc/passwd '$x' a",
    "awk 'BEGIN{ARGV[1]=\"/etc/passwd\";ARGC=2}{print}' a",
    "awk 'BEGIN{SYMTAB[\"ARGV\"][1]=1}' a",
    "awk -f prog a",
    "awk -i inplace '{print}' a",
    "sed 's/[/]/;s/e;p;/p;/p' a",
    "sed -n 's/x/y/w out' a",
    "sed --expression='w out' a",
    "find . -fprint out",
    "find . -fprintf out x",
    "find . -fls out",
    "find . -delete",
    "find . -ok cat {} \\;",
    "find . -exec rm {} +",
    "find . -exec sort -o out {} +",
    "find . -exec sh -c 'cat {}' \\;",
    "find -files0-from list",
    "find . -exec cat {}x \\;",
    "hostname evil",
    "hostname -F f",
    "dmesg -C",
    "dmesg -c",
    "ss -K",
    "ss -D out",
    "ip link set eth0 down",
    "ip netns exec x y",
    "ip -b f",
    "lsof -D b/x",
    "ps e",
    "ps auxe",
    "ps -eo pid,environ",
    "env -S 'rm x'",
    "env rm x",
    "env -i ls",
    "less a",
    "man ls",
    "strings @opts",
    "getconf -v x y",
    "ls --hyperlink=x --nonsense",
    "cat --nonsense a",
    "head -n $x a",
    "grep $x a",
    "timeout -s $x 5 ls",
    "git diff --output=x",
    "git diff --outpu=x",
    "git log --ext-diff",
    "git log --textconv",
    "git log --show-signature",
    "git log --format='%G?'",
    "git for-each-ref --format='%(signature)'",
    "git grep -O x",
    "git grep -Oless x",
    "git grep --open-files-in-pager=x y",
    "git -c core.pager=x log",
    "git --exec-path=x log",
    "git --git-dir=x log",
    "git branch new",
    "git branch -v new",
    "git branch -d x",
    "git branch -m x",
    "git branch --set-upstream-to=x",
    "git branch --edit-description",
    "git tag new",
    "git tag -d x",
    "git tag -v x",
    "git reflog expire --all",
    "git reflog delete x",
    "git stash",
    "git stash pop",
    "git config a.b c",
    "git config --unset a.b",
    "git config -f /etc/x --list",
    "git symbolic-ref HEAD refs/heads/x",
    "git remote show origin",
    "git ls-remote origin",
    "git cat-file --textconv HEAD:a",
    "git cat-file --filters HEAD:a",
    "git diff --no-index /etc/passwd a",
    "git diff -O/etc/passwd",
    "git rev-parse --parseopt",
    "git blame --contents /etc/passwd a",
];

#[test]
fn options_are_read_as_the_program_reads_them() {
    all(Ask, ACTING_OPTIONS);
}

#[test]
fn links_below_a_directory_are_not_followed_unasked() {
    all(
        Ask,
        &[
            "grep -R x .",
            "grep -nR x .",
            "grep --dereference-recursive x .",
            "rg -L x",
            "rg --follow x",
            "find -L . -name x",
            "find . -follow",
            "fd -L x",
            "tree -l",
            "who /etc/passwd",
        ],
    );
}

#[test]
fn a_line_does_not_multiply_unasked() {
    all(
        Ask,
        &[
            "f() { f | f & }; f",
            "f() { g; }; g() { f; }; f",
            "while true; do sleep 9 & done",
            "for i in 1 2 3; do ls & done",
            "LC_ALL=/w/repo/x ls",
            "TZ=/etc/passwd date",
            "TZ=:../x date",
            "TERM=../x ls",
            "x=$(cat f); ss a$x",
            "x=$(cat f); pgrep a$x",
            "x=$(cat f); getconf a$x",
            "LANG=./x sort a",
        ],
    );
    all(Allow, &["TZ=Europe/Berlin date", "ls & wait", "LC_ALL=en_US.UTF-8 sort a"]);
}

/// A variable is replaced by the values that the line writes, unless something else may set it.
#[test]
fn a_variable_that_is_computed_or_read_is_not_taken_for_what_is_written() {
    use crate::case::{policy, rule_on};
    use serde_json::json;
    use windlass_permission::PriorDecision;
    use windlass_vocabulary::PermissionMode;
    let deny = policy(PermissionMode::Default, &["-Read(1)", "-Read(key)"]);
    for change in [
        "((x=1))",
        "((x++))",
        "((--x))",
        "((x+=1))",
        ": $((x=1))",
        "for ((x=0; x<3; x++)); do :; done",
        "while ((x++ < 2)); do :; done",
        "f() { ((x|=1)); }; f",
        "echo {$((x=1)),2}",
        "[ $((x=1)) ]",
        "case $((x=1)) in *) :;; esac",
        "read x <<< key",
        "\\read x <<< key",
        "'read' x <<< key",
        "r\\ead x <<< key",
        "$'read' x <<< key",
        "read \\x <<< key",
        "read {x,z} <<< 'key a'",
        "read $'\\x78' <<< key",
        "read 'x'\"\" <<< key",
        "command read x <<< key",
        "{read,x} <<< key",
        "printf '12%n' \\x",
        "printf $'12%\\x6e' x",
    ] {
        let line = format!("x=0; {change}; cat $x");
        let input = json!({ "command": line });
        let (got, why) = rule_on(&deny, "Bash", &input, PriorDecision::None);
        assert_ne!(got, Allow, "{line}: {why}");
    }
    all(
        Allow,
        &[
            "x=a; cat $x",
            "for x in a b; do cat $x; done",
            "x=a; read y < b; cat $x; echo $y",
            "x=a; i=0; ((i++)); cat $x; echo $i",
            "x=a; printf '%s\n' \"$x\"; cat $x",
            "x=a; while read -r line; do echo \"$line\"; done < b; cat $x",
        ],
    );
}

/// A deny rule for a program asks where another program is told to start it.
#[test]
fn a_denied_program_that_another_one_may_start_is_asked_about() {
    for command in [
        "uv run rm x",
        "poetry run rm x",
        "npm exec -- rm x",
        "direnv exec . rm x",
        "concurrently 'rm x'",
        "runuser -c 'rm x'",
        "fd -x rm",
        "rg --pre rm x",
        "rg --pre=rm x",
        "sort --compress-program=/bin/rm y",
        "split --filter='rm x' y",
        "tar cf a.tar y --to-command='rm x'",
        "rsync -e 'rm x' a b:",
        "less '+!rm x' y",
        "GIT_PAGER='rm x' git log",
        "let a='b[$(rm x)]'",
        "printf -v 'a[$(rm x)]' x",
        "test -v 'a[`rm x`]'",
    ] {
        let (got, why) = bash(&["+Bash", "-Bash(rm:*)"], command);
        assert_eq!(got, Ask, "{command}: {why}");
        let (got, why) = bash(&["+Bash", "-Bash(curl:*)"], command);
        assert_eq!(got, Allow, "{command}: {why}");
    }
    for command in ["git rm x", "docker rm x", "git commit -m 'rm it'", "uv sync", "tar cf rm y"] {
        let (got, why) = bash(&["+Bash", "-Bash(rm:*)"], command);
        assert_eq!(got, Allow, "{command}: {why}");
    }
}
