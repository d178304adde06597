//! Rules offered with a question: wide enough to be of use, narrow enough to be safe.

use serde_json::json;
use windlass_permission::{PermissionDecision, PriorDecision, decide};
use windlass_vocabulary::{EffectClass, PermissionMode};

use crate::case::{call, inspection, policy};

fn offered(tool: &str, input: &serde_json::Value) -> Vec<String> {
    let policy = policy(PermissionMode::Default, &[]);
    match decide(&policy, call(tool, input), &inspection(EffectClass::Effect), PriorDecision::None)
    {
        PermissionDecision::Ask(question) => question.view().suggestions.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_offered_by_program_and_sub_command() {
    let cases: &[(&str, &[&str])] = &[
        ("make", &["Bash(make:*)"]),
        ("make -j4 all", &["Bash(make:*)"]),
        ("cargo test --all", &["Bash(cargo test:*)"]),
        ("npm run build", &["Bash(npm run build:*)"]),
        ("npm run build -- --watch", &["Bash(npm run build:*)"]),
        ("git push origin main", &["Bash(git push:*)"]),
        ("timeout 5 make", &["Bash(make:*)"]),
        ("make && cargo test | tail -3", &["Bash(make:*)", "Bash(cargo test:*)"]),
        ("cd src && make; make", &["Bash(make:*)"]),
        ("for i in 1 2; do make; done", &["Bash(make:*)"]),
        ("npm run test -- x", &["Bash(npm run test:*)"]),
        ("npm run build:prod", &["Bash(npm run build:prod:*)"]),
        ("npm test", &["Bash(npm test:*)"]),
        ("git commit -m \"one; two\"", &["Bash(git commit:*)"]),
        ("git add . && git commit -m x", &["Bash(git add:*)", "Bash(git commit:*)"]),
        ("bun test", &["Bash(bun test:*)"]),
        ("pytest -q", &["Bash(pytest:*)"]),
        ("mkdir -p a/b", &["Bash(mkdir:*)"]),
        // What takes away, or reaches out, is offered as it stands.
        ("rm -rf build", &["Bash(rm -rf build)"]),
        ("mv a b", &["Bash(mv a b)"]),
        ("chmod +x run.sh", &["Bash(chmod +x run.sh)"]),
        ("kill 7", &["Bash(kill 7)"]),
        ("curl https://example.com", &["Bash(curl https://example.com)"]),
        ("make && rm -rf build", &["Bash(make:*)", "Bash(rm -rf build)"]),
        ("git -C sub status", &["Bash(git -C sub status)"]),
        ("git -c a=b log", &["Bash(git -c a=b log)"]),
        ("FOO=1 make", &["Bash(FOO=1 make)"]),
        ("cp a /etc/b", &["Bash(cp a /etc/b)"]),
        ("make > out", &["Bash(make > out)"]),
        // What runs anything it is given is offered no rule at all, nor is a line with one in it.
        ("sudo rm x", &[]),
        ("sudo make install", &[]),
        ("bash -c 'make'", &[]),
        ("bash build.sh", &[]),
        ("python3 x.py", &[]),
        ("python3.11 -c 'print(1)'", &[]),
        ("node x.js", &[]),
        ("perl -e 1", &[]),
        ("npx tsc", &[]),
        ("xargs rm", &[]),
        ("env make", &[]),
        ("find . -exec sh ';'", &[]),
        ("docker run x", &[]),
        ("ssh host make", &[]),
        ("eval make", &[]),
        ("make | sh", &[]),
        ("make; sudo make install", &[]),
        ("$TOOL x", &[]),
        // One rule a part, and no more than five.
        ("a; b; c; d; e", &["Bash(a:*)", "Bash(b:*)", "Bash(c:*)", "Bash(d:*)", "Bash(e:*)"]),
        ("a; b; c; d; e; f", &["Bash(a; b; c; d; e; f)"]),
        // What is not understood is asked for each time.
        ("make ${x@P}", &[]),
        ("make\nmake 'x", &[]),
    ];
    for (command, expected) in cases {
        assert_eq!(&offered("Bash", &json!({ "command": command })), expected, "{command}");
    }
}

#[test]
fn other_tools_are_offered_by_what_they_touch() {
    let cases = [
        ("Edit", json!({"file_path": "/w/repo/src/a.rs"}), "Edit(./src/**)"),
        ("Read", json!({"file_path": "/etc/hosts"}), "Read(//etc/**)"),
        ("WebFetch", json!({"url": "https://example.com/a?b"}), "WebFetch(domain:example.com)"),
        ("mcp__s__t", json!({}), "mcp__s__t"),
        ("Skill", json!({"skill": "reviewer"}), "Skill(reviewer)"),
    ];
    for (tool, input, expected) in cases {
        assert_eq!(offered(tool, &input), [expected], "{tool} {input}");
    }
}

/// Whatever is offered allows the call it was offered for, and not its dangerous siblings.
#[test]
fn what_is_offered_allows_the_call_and_none_of_its_siblings() {
    let commands = [
        "make",
        "cargo test --all",
        "npm run build",
        "npm run test -- x",
        "git push origin main",
        "git commit -m x",
        "git add . && git commit -m x",
        "pytest -q",
        "mkdir -p a/b",
        "rm -rf build",
        "chmod +x run.sh",
        "docker build .",
        "bun test",
        "cp a b",
        "go build ./...",
    ];
    for command in commands {
        let rules = offered("Bash", &json!({ "command": command }));
        assert!(!rules.is_empty(), "{command}");
        let texts: Vec<String> = rules.iter().map(|rule| format!("+{rule}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let policy = policy(PermissionMode::Default, &texts);
        let ruling = |text: &str| {
            let call = call("Bash", &json!({ "command": text }));
            decide(&policy, call, &inspection(EffectClass::Effect), PriorDecision::None)
        };
        assert!(
            matches!(ruling(command), PermissionDecision::Allow(_)),
            "{command} with {rules:?}"
        );
        let siblings = [
            format!("{command}; rm -rf src"),
            format!("{command} && curl https://example.org"),
            format!("{command} | sh"),
            format!("{command} $(rm x)"),
            format!("{command} `rm x`"),
            format!("{command} > /etc/passwd"),
            format!("{command} >> ~/.bashrc"),
            format!("sudo {command}"),
            format!("LD_PRELOAD=./x.so {command}"),
            format!("PATH=. {command}"),
            format!("cd / && {command}; rm x"),
            "rm -rf src".to_owned(),
            "rm -rf build src".to_owned(),
            "chmod -R 777 .".to_owned(),
            "git -c core.pager=sh log".to_owned(),
            "git push --receive-pack=./x".to_owned(),
            "git commit --template=/etc/passwd -m x --exec=y; sh".to_owned(),
            "make SHELL=./x".to_owned(),
            "cp x /etc/passwd".to_owned(),
            "mkdir /etc/x".to_owned(),
            "npm run other".to_owned(),
            "docker run -v /:/x y".to_owned(),
        ];
        for sibling in siblings {
            let is_allowed = matches!(ruling(&sibling), PermissionDecision::Allow(_));
            assert!(!is_allowed, "{rules:?} allows `{sibling}`");
        }
    }
}
