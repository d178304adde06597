//! Rules offered with a question: wide enough to be of use, narrow enough to be safe.

use serde_json::json;
use windlass_permission::{Opinion, Ruling, decide};
use windlass_vocabulary::{EffectClass, Mode};

use crate::case::{call, inspection, policy};

fn offered(tool: &str, input: &serde_json::Value) -> Vec<String> {
    let policy = policy(Mode::Default, &[]);
    match decide(&policy, call(tool, input), &inspection(EffectClass::Effect), Opinion::None) {
        Ruling::Ask(question) => question.view().suggestions.clone(),
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
        // A runner, or an option that runs something, is offered as it stands.
        ("sudo rm x", &["Bash(sudo rm x)"]),
        ("bash -c 'make'", &["Bash(bash -c 'make')"]),
        ("npx tsc", &["Bash(npx tsc)"]),
        ("find . -exec ls ';'", &["Bash(find . -exec ls ';')"]),
        ("git -c a=b log", &["Bash(git -c a=b log)"]),
        ("docker run x", &["Bash(docker run x:*)"]),
        ("FOO=1 make", &["Bash(FOO=1 make)"]),
        ("cp a /etc/b", &["Bash(cp a /etc/b)"]),
        // What is not understood, or too long for anybody to read, is offered as a whole or not at all.
        ("make ${x@P}", &["Bash(make ${x@P})"]),
        ("make > out", &["Bash(make > out)"]),
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
        ("Agent", json!({"subagent_type": "reviewer"}), "Agent(reviewer)"),
    ];
    for (tool, input, expected) in cases {
        assert_eq!(offered(tool, &input), [expected], "{tool} {input}");
    }
}
