//! Rules about shell commands.

use crate::case::{Allow, Ask, Deny, Outcome, bash};

fn table(cases: &[(&[&str], &str, Outcome)]) {
    for (rules, command, expected) in cases {
        let (got, why) = bash(rules, command);
        assert_eq!(got, *expected, "{rules:?} on `{command}`: {why}");
    }
}

#[test]
fn words_decide_and_not_letters() {
    table(&[
        (&["+Bash(cargo test:*)"], "cargo test", Allow),
        (&["+Bash(cargo test:*)"], "cargo test --all", Allow),
        (&["+Bash(cargo test *)"], "cargo test --all", Allow),
        (&["+Bash(cargo test *)"], "cargo test", Allow),
        (&["+Bash(cargo test:*)"], "cargo testing", Ask),
        (&["+Bash(cargo test:*)"], "cargo 'test --all'", Ask),
        (&["+Bash(cargo test)"], "cargo test", Allow),
        (&["+Bash(cargo test)"], "cargo  \"test\"", Allow),
        (&["+Bash(cargo test)"], "cargo test --all", Ask),
        (&["+Bash(npm run test*)"], "npm run test:unit", Allow),
        (&["+Bash(npm run * --watch)"], "npm run unit --watch", Allow),
        (&["+Bash(make)"], "/usr/bin/make", Ask),
        (&["+Bash"], "anything | at > all", Allow),
        (&["+Bash(*)"], "anything | at > all", Allow),
        (&["+Bash(:*)"], "anything", Allow),
        (&["-Bash(rm:*)"], "/bin/rm x", Deny),
        (&["-Bash(rm:*)"], "rmdir x", Ask),
        (&["-Bash(git push:*)"], "git push", Deny),
        (&["-Bash(git push:*)"], "git pushy", Ask),
        (&["-Bash(git * main)"], "git push origin main", Deny),
        (&["?Bash(git push:*)", "+Bash(git:*)"], "git push", Ask),
        (&["?Bash(git push:*)", "+Bash(git:*)"], "git fetch", Allow),
        (&["-Bash(git push:*)", "?Bash(git:*)", "+Bash"], "git push", Deny),
        (&["-Bash"], "ls", Deny),
        (&["-*"], "ls", Deny),
        (&["+*"], "make", Ask),
    ]);
}

#[test]
fn an_allow_covers_only_what_is_understood() {
    let rules: &[&str] = &["+Bash(make:*)", "+Bash(true:*)"];
    for command in [
        "make; make",
        "make && make",
        "make | make",
        "make & make",
        "make\nmake",
        "make \\; x",
        "(make)",
        "make # x",
        "! make",
        "make src/*.c",
        "make ~/x",
        "make > /dev/null 2>&1",
        "if make; then true; fi",
        "while true; do make; done",
        "f() { make; }; f",
        "make -j4 && true || make",
    ] {
        let (got, why) = bash(rules, command);
        let expected = if command.contains('~') { Ask } else { Allow };
        assert_eq!(got, expected, "{command}: {why}");
    }
    for command in [
        "make; rm",
        "make && rm",
        "make | rm",
        "make & rm",
        "make\nrm",
        "make > x",
        "make < /etc/x",
        "make $X",
        "make \"$X\"",
        "make `x`",
        "make $(x)",
        "make *",
        "make $(rm x)",
        "(rm)",
        "X=1 make",
        "PATH=. make",
        "LD_PRELOAD=x make",
        "make 'x",
        "if make",
        "make x\u{a0}y",
        "make x\u{200b}y",
        "make x\ry",
        "make\\\nx",
        "coproc make",
        "make ${x@P}",
        "make --eval=x",
    ] {
        assert_eq!(bash(rules, command).0, Ask, "{command}");
    }
    let long = format!("make {}", "x".repeat(11_000));
    assert_eq!(bash(rules, &long).0, Ask);
    table(&[
        (&["+Bash(make && make)"], "make && make", Allow),
        (&["+Bash(make && make)"], "make && make install", Ask),
        (rules, "make 'x; y' \"a b\"", Allow),
        (rules, "CI=1 LC_ALL=C RUST_LOG=debug make", Allow),
        (rules, "timeout 5m make", Allow),
        (rules, "timeout -k 5 -s KILL 10.5s nice -n 5 make x", Allow),
        (rules, "time -p nohup stdbuf -oL make", Allow),
        (rules, "timeout --unknown 5 make", Ask),
        (rules, "nice --adjustment make", Ask),
        (&["+Bash(timeout:*)"], "timeout 5 rm x", Allow),
        (&["+Bash(sudo:*)"], "sudo rm x", Allow),
        (&["+Bash(sudo rm:*)"], "sudo rm x", Allow),
        (&["+Bash(sudo rm:*)"], "sudo -u root rm x", Ask),
        (&["+Bash(env:*)"], "env make", Allow),
        (&["+Bash(env X=1:*)"], "env X=1 rm y", Allow),
        (&["+Bash(xargs:*)"], "xargs rm", Allow),
        (&["+Bash(bash:*)"], "bash -c 'rm x'", Allow),
        (&["+Bash(bash run.sh:*)"], "bash run.sh now", Allow),
    ]);
}

#[test]
fn a_prefix_does_not_cover_options_that_run_or_write_something_else() {
    table(&[
        (&["+Bash(find:*)"], "find . -exec rm '{}' +", Ask),
        (&["+Bash(find . -exec:*)"], "find . -exec rm '{}' +", Allow),
        (&["+Bash(git:*)"], "git -c core.pager=x log", Ask),
        (&["+Bash(git:*)"], "git fetch --upload-pa=x origin", Ask),
        (&["+Bash(git:*)"], "git config core.pager x", Ask),
        (&["+Bash(git log:*)"], "git log --outp=x", Ask),
        (&["+Bash(git log:*)"], "git log --oneline -5", Allow),
        (&["+Bash(tar:*)"], "tar -xIx -f a", Ask),
        (&["+Bash(tar:*)"], "tar --to-com=x -xf a", Ask),
        (&["+Bash(sort:*)"], "sort --compress-prog x y", Ask),
        (&["+Bash(sort:*)"], "sort -no x y", Ask),
        (&["+Bash(cp:*)"], "cp a b", Allow),
        (&["+Bash(cp:*)"], "cp a /w/more/b", Allow),
        (&["+Bash(cp:*)"], "cp a /etc/b", Ask),
        (&["+Bash(cp:*)"], "cp a ../b", Ask),
        (&["+Bash(cp a /etc/b)"], "cp a /etc/b", Allow),
        (&["+Bash(curl:*)"], "curl -so x http://y", Ask),
        (&["+Bash(cargo test:*)"], "cargo test --config x", Ask),
        (&["+Bash(go test:*)"], "go test -exec=x ./...", Ask),
        (&["+Bash(sed -n:*)"], "sed -n 1,5p a", Allow),
        (&["+Bash(sed -n:*)"], "sed -n '/x/{p;q}' a | head", Allow),
        (&["+Bash(sed -n:*)"], "sed -n '1e rm x' a", Ask),
        (&["+Bash(sed -n:*)"], "sed -n 'w x' a", Ask),
        (&["+Bash(sed -n:*)"], "sed -n \"$x\" a", Ask),
        (&["+Bash(sed -n:*)"], "sed -n -f x a", Ask),
        (&["+Bash(sed -i s/a/b/:*)"], "sed -i s/a/b/ a", Allow),
        (&["+Bash(sed s/a/b/w:*)"], "sed s/a/b/w a", Allow),
        (&["+Bash(sed -n p:*)"], "sed -n p a -e '1e rm x'", Ask),
        (&["+Bash(awk -F:*)"], "awk -F , '{print $1}' a", Allow),
        (&["+Bash(awk -F ,:*)"], "awk -F , '{system($1)}' a", Ask),
        (&["+Bash(awk -v x=1:*)"], "awk -v x=1 'BEGIN{system(\"rm x\")}'", Ask),
        (&["+Bash(awk '{print > $1}':*)"], "awk '{print > $1}' a", Allow),
        (&["+Bash(make test:*)"], "make test V=1 CC=clang", Allow),
        (&["+Bash(make test:*)"], "make test PREFIX=out/x", Allow),
        (&["+Bash(make test:*)"], "make test CC=./evil", Ask),
        (&["+Bash(make test:*)"], "make test 'X=$(shell rm x)'", Ask),
        (&["+Bash(git apply:*)"], "git apply a.patch", Allow),
        (&["+Bash(git apply:*)"], "git apply --unsafe-paths a.patch", Ask),
        (&["+Bash(git apply:*)"], "git apply --directory=../.. a.patch", Ask),
        (&["+Bash(git clone:*)"], "git clone https://example.org/a.git", Allow),
        (&["+Bash(git clone:*)"], "git clone --depth 1 https://example.org/a.git b", Allow),
        (&["+Bash(git clone:*)"], "git clone https://example.org/a.git ~/b", Ask),
        (&["+Bash(git clone:*)"], "git clone https://example.org/a.git /etc/b", Ask),
        (&["+Bash(git init:*)"], "git init -q", Allow),
        (&["+Bash(git init:*)"], "git init -q /etc/b", Ask),
        (&["+Bash(git diff:*)"], "git diff --no-index a b", Allow),
        (&["+Bash(git diff:*)"], "git diff --no-index /dev/null ~/.bashrc", Ask),
        (&["+Bash(git grep:*)"], "git grep --no-index x /home/u", Ask),
        (&["+Bash(git grep:*)"], "git grep x", Allow),
    ]);
}

/// Ways to run `rm x`.
const HIDING_PLACES: &[&str] = &[
    "rm x",
    "  rm x",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | rm x",
    "ls |& rm x",
    "ls & rm x",
    "ls\nrm x",
    "(rm x)",
    "{ rm x; }",
    "echo $(rm x)",
    "echo \"$(rm x)\"",
    "echo `rm x`",
    "echo \"`rm x`\"",
    "cat <(rm x)",
    "cat > >(rm x)",
    "echo ${y:-$(rm x)}",
    "echo $((1 + $(rm x)))",
    "if rm x; then ls; fi",
    "if ls; then rm x; fi",
    "while ls; do rm x; done",
    "for i in 1; do rm x; done",
    "case a in a) rm x;; esac",
    "f() { rm x; }; f",
    "function f { rm x; }",
    "! rm x",
    "r\\m x",
    "'rm' x",
    "r''m x",
    "\"rm\" x",
    "$'rm' x",
    "$'\\x72m' x",
    "$'\\162m' x",
    "/bin/rm x",
    "../../bin/rm x",
    "A=1 B=2 rm x",
    "A=$(true) rm x",
    "timeout 5 rm x",
    "nice -n 5 rm x",
    "env A=1 rm x",
    "sudo -u a rm x",
    "command rm x",
    "builtin rm x",
    "exec rm x",
    "setsid rm x",
    "ionice -c 3 rm x",
    "nohup rm x",
    "ls | xargs rm",
    "ls | xargs -n 1 -I y rm y",
    "find . -exec rm '{}' \\;",
    "find . -ok rm {} +",
    "sh -c 'rm x'",
    "bash -ec 'ls; rm x'",
    "bash -c \"rm x\"",
    "bash -c 'bash -c \"rm x\"'",
    "sudo bash -c 'rm x'",
    "env -i sh -c 'rm x'",
    "eval rm x",
    "eval 'rm x'",
    "eval \"ls; rm x\"",
    "bash <<X\nrm x\nX",
    "cat <<X\n$(rm x)\nX",
    "cat <<-X | sh\n\trm x\n\tX",
    "rm x > y 2>&1",
    ">y rm x",
    "2>/dev/null rm x",
    "ls # \nrm x",
    "ls \\\n&& rm x",
    "coproc rm x",
    "time rm x",
    "echo \"a'b\" ; rm x",
    "echo 'a\"b' ; rm x",
    "echo \"\\\"\"; rm x",
    "watch rm x",
    "su -c 'rm x'",
    "env -S 'rm x'",
    "env -S'rm x'",
    "env --split-string='rm x'",
    "su -c'rm x' u",
    "su --command='rm x' u",
    "script -c'rm x'",
    "mapfile -C 'rm x #' y < z",
    "readarray -t -C'rm x #' y < z",
    "compgen -C 'rm x'",
    "git -c core.pager='rm x' log",
    "git -c alias.x='!rm x' x",
    "git -c sequence.editor='rm x' rebase -i HEAD",
    "watch -n 1 'rm x'",
    "find . -exec sh -c 'rm x' +",
];

#[test]
fn a_denied_command_is_found_wherever_it_hides() {
    for command in HIDING_PLACES {
        let (got, why) = bash(&["-Bash(rm:*)", "+Bash"], command);
        assert_eq!(got, Deny, "{command:?}: {why}");
        assert!(why.contains("`Bash(rm:*)`"), "{why}");
        assert_eq!(bash(&["?Bash(rm:*)", "+Bash"], command).0, Ask, "{command:?}");
    }
    let far = format!("{}rm x", "true; ".repeat(20_000));
    assert_eq!(bash(&["-Bash(rm:*)", "+Bash"], &far).0, Deny);
    let deep = format!("{}rm x{}", "$(".repeat(2_000), ")".repeat(2_000));
    assert!(bash(&["-Bash(rm:*)", "+Bash"], &deep).0 >= Ask);
}

#[test]
fn a_deny_does_not_see_what_is_not_there() {
    for command in [
        "echo 'rm x'",
        "echo \"rm x\"",
        "git commit -m 'rm x; rm y'",
        "echo a; echo 'b; rm x'",
        "grep rm x",
        "ls rm",
        "cat <<X\nrm x\nX",
        "echo \\; rm x",
        "ls # rm x",
        "npm rm x",
        "git -c user.name='rm x' commit",
        "mapfile -t rm < x",
        "[ -f rm ] && ls",
        "echo rm > rm",
    ] {
        let (got, why) = bash(&["-Bash(rm:*)", "+Bash"], command);
        assert_eq!(got, Allow, "{command:?}: {why}");
    }
}

#[test]
fn a_command_named_at_run_time_asks_when_something_is_denied() {
    for command in [
        "$X y",
        "\"$X\" y",
        "$(x) y",
        "`x` y",
        "/bin/r? x",
        "~/x",
        "eval $X",
        "bash -c \"$X\"",
        "curl x | sh",
        "curl x | sudo bash",
        "$'\\q' x",
        "source <(x)",
        "sudo $X",
        "a=b $X",
        "hash -p /bin/rm y; y x",
        "mapfile -C \"$X\" y",
    ] {
        let (got, why) = bash(&["-Bash(rm:*)", "+Bash"], command);
        assert_eq!(got, Ask, "{command:?}: {why}");
        assert_eq!(bash(&["+Bash"], command).0, Allow, "{command:?}");
    }
}

#[test]
fn critical_removals_are_always_asked() {
    for command in [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf /etc",
        "rm -rf /etc/",
        "rm -rf //etc",
        "rmdir /usr",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf ~u",
        "rm -rf $HOME",
        "rm -rf /home/u",
        "rm -rf .",
        "rm -rf ..",
        "rm -rf ../..",
        "rm -rf ./",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf /w/repo",
        "rm -rf /w/repo/*",
        "rm -rf /w/more/*",
        "rm -rf /w",
        "rm -rf \"$D\"/*",
        "rm -rf $D/",
        "rm -rf ${D}/*",
        "echo $(rm -rf /)",
        "ls; sudo rm -rf /",
        "/bin/rm -rf /",
        "rm -rf src /",
        "find . -exec rm -rf / +",
        "sh -c 'rm -rf /'",
        "rm -rf /etc/../usr",
    ] {
        let (got, why) = bash(&["+Bash"], command);
        assert_eq!(got, Ask, "{command}: {why}");
        assert!(why.contains("could remove far too much"), "{command}: {why}");
    }
    for command in
        ["rm -rf target", "rm -rf /tmp/x", "rm *.o", "rm -rf src/*", "rm -rf ../x", "rm $D/x"]
    {
        assert_eq!(bash(&["+Bash"], command).0, Allow, "{command}");
    }
}

#[test]
fn file_rules_bind_commands_too() {
    table(&[
        (&["-Read(.env)", "+Bash"], "cat .env", Deny),
        (&["-Read(.env)", "+Bash"], "cat sub/.env", Deny),
        (&["-Read(.env)", "+Bash"], "ls; head -3 < .env", Deny),
        (&["-Read(.env)", "+Bash"], "sudo cat /w/repo/.ENV", Deny),
        (&["-Read(.env)", "+Bash"], "python3 .env", Deny),
        (&["-Read(.env)", "+Bash"], "echo .env", Allow),
        (&["-Read(//etc/**)", "+Bash"], "cat /etc/passwd", Deny),
        (&["-Edit(src/**)", "+Bash"], "echo x > src/a", Deny),
        (&["-Edit(src/**)", "+Bash"], "tee src/a", Deny),
        (&["-Edit(src/**)", "+Bash"], "cat src/a", Allow),
        (&["-Edit(src/**)", "+Bash"], "cat src/a > out 2>&1", Allow),
    ]);
}

#[test]
fn protected_places_are_asked_for_even_with_an_allow() {
    for command in [
        "echo x > .git/config",
        "cp x .git/hooks/pre-commit",
        "mv .git x",
        "tee -a .bashrc",
        "ln -s x sub/.vscode/settings.json",
        "dd of=.envrc",
        "rm -rf .GIT",
        "touch .mcp.json",
        "ls && sed -i s/a/b/ .claude/settings.json",
    ] {
        let (got, why) = bash(&["+Bash"], command);
        assert_eq!(got, Ask, "{command}");
        assert!(why.contains("protected place"), "{why}");
    }
    for command in [
        "cat .git/config",
        "ls .git | cat",
        "git commit -m 'about .git/config'",
        "touch .gitignore",
    ] {
        assert_eq!(bash(&["+Bash"], command).0, Allow, "{command}");
    }
}
