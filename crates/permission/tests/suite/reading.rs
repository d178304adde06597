//! Commands that only read.

use windlass_permission::shell_command::{is_read_only_line, may_start_git};

use crate::case::{Allow, Ask, bash};

#[test]
fn reading_commands_need_no_rule_inside_the_directories() {
    let cases: &[(&[&str], &str, crate::case::Outcome)] = &[
        (&[], "ls", Allow),
        (&[], "cat src/main.rs", Allow),
        (&[], "cat /w/repo/a /w/more/b", Allow),
        (&[], "timeout 5 cat a", Allow),
        (&[], "cd src", Allow),
        (&[], "git log --oneline", Allow),
        (&[], "git diff HEAD..main", Allow),
        (&[], "echo /etc", Allow),
        (&[], "cat /etc/passwd", Ask),
        (&[], "cat /w/repository/x", Ask),
        (&[], "cat /w/repo/../x", Ask),
        (&[], "cat ../x", Ask),
        (&[], "grep -f/etc/passwd x", Ask),
        (&[], "grep -f../x y", Ask),
        (&[], "grep --file=/etc/passwd x", Ask),
        (&[], "cd /", Ask),
        (&[], "git ls-files -o --exclude-per-directory=.gitignore", Allow),
        (&[], "git ls-files -o --exclude-per-directory=../../x", Ask),
        (&[], "cd src && git ls-files -o --exclude-per-directory ../x", Ask),
        (&[], "git ls-files -o --exclude-per-directory=/etc/passwd", Ask),
        (&[], "git ls-files -i -o -X /etc/passwd", Ask),
        (&[], "git ls-files -i -o -X../x", Ask),
        (&[], "git ls-files -io --exclude-from=/etc/passwd", Ask),
        (&[], "git for-each-ref --sort=-creatordate", Allow),
        (&[], "git for-each-ref --sort=signature:key", Ask),
        (&[], "git log --grep=signature", Allow),
        (&[], "ls | cat", Allow),
        (&[], "ls | rm", Ask),
        (&[], "env", Allow),
        (&[], "find . -delete", Ask),
        (&[], "printf -v x y", Ask),
        (&["-Read(.env)"], "rg key", Ask),
        (&["-Read(.env)"], "grep -rn key .", Ask),
        (&["-Read(.env)"], "grep key a", Allow),
    ];
    for (rules, command, expected) in cases {
        let (got, why) = bash(rules, command);
        assert_eq!(got, *expected, "{rules:?} on `{command}`: {why}");
    }
}

#[test]
fn what_only_reads_may_run_beside_others() {
    for command in [
        "ls",
        "sleep 0.5",
        "sleep 0.5; echo x",
        "ls | head",
        "cat /etc/passwd | grep root | wc -l",
        "git log --oneline | head -5",
        "echo \"a; rm b\"",
        "cat <<'E'\nrm x\nE",
        "for f in a b; do cat \"$f\"; done",
        "if [ -f a ]; then cat a; fi",
        "x=1; echo $x",
        "echo $(date)",
        "grep x a 2>/dev/null",
        "find . -name '*.rs' | sort",
        "(ls; pwd)",
        "LC_ALL=C sort a",
        "timeout 5 cat a",
        "diff <(sort a) <(sort b)",
        "sed -n 1p a | awk '{print $1}'",
        "! grep -q x a",
    ] {
        assert!(is_read_only_line(command), "{command}");
    }
    for command in [
        "cd src",
        "cd src && ls",
        "echo x > f",
        "ls | tee f",
        "ls && make",
        "ls | xargs rm",
        "sleep 1 & rm x",
        "echo $(rm x)",
        "cat `rm x`",
        "sort -o f a",
        "sed -i s/a/b/ f",
        "awk '{print > \"f\"}' a",
        "find . -delete",
        "git commit -m x",
        "git log --output=x",
        "X=1 cat a",
        "PATH=. ls",
        "ls 'x",
        "ls $(",
        "$X",
        "eval ls",
        "bash -c ls",
        "source x",
        "export PATH=.",
        "f() { rm x; }; f",
        "mkdir a",
        "",
        "pushd a",
        "${x@P}",
        "[[ a -eq b ]]",
        "uniq a b",
        "curl x",
    ] {
        assert!(!is_read_only_line(command) || command.is_empty(), "{command}");
    }
}

#[test]
fn text_made_to_confuse_asks_and_ends_soon() {
    let pieces = [
        "$(",
        "(",
        "{ ",
        "<<A ",
        "`",
        "\"$(",
        "${a:-",
        "if ;then (",
        "[[ ( ",
        "a=( ",
        "f() ",
        "{a,b}",
        "eval '",
        "bash -c \"",
        "case x in a) ",
        "a & b && c || d | e ; ( ",
        "<(",
        "x[",
        "$((",
        "\\\n",
        "'\n",
    ];
    for piece in pieces {
        for count in [50, 700, 15_000] {
            let command = format!("{}rm x", piece.repeat(count));
            assert!(bash(&["+Bash(ls:*)"], &command).0 >= Ask, "{piece} {count}");
            assert!(bash(&["+Bash", "-Bash(rm:*)"], &command).0 >= Ask, "{piece} {count}");
        }
    }
}

#[test]
fn git_is_told_from_files_of_git() {
    for line in [
        "git log",
        "cd x && git status",
        "a | xargs git show",
        "(git diff)",
        "/usr/bin/git x",
        "g\"i\"t log",
        "gi't' log",
        "g\\it log",
        "$'\\x67it' log",
        "{g,}it log",
    ] {
        assert!(may_start_git(line), "{line}");
    }
    for line in ["cat .gitignore", "ls .git", "echo digits", "cat docs/git.md"] {
        assert!(!may_start_git(line), "{line}");
    }
}
