//! What a hook finds: its input, its directory, its variables, no terminal.

use serde_json::{Value, json};
use windlass_hook::{HookEvent, HookInvocation, HookSet, HookSource};

use crate::test_bed::{HookTestBed, command_hook};

#[tokio::test]
async fn a_hook_finds_its_input_its_place_and_no_terminal() {
    let stage = HookTestBed::new();
    let file = stage.path().join("env-file");
    let input = json!({ "hook_event_name": "SessionStart", "source": "startup", "text": "ü\n" });
    let occasion = HookInvocation {
        input: input.clone(),
        env_file: Some(file.clone()),
        ..HookInvocation::default()
    };
    let line = "cat > input; pwd -P > cwd; echo \"$CLAUDE_PROJECT_DIR|$CLAUDECODE\" > variables; \
                echo 'export A=1' >> \"$CLAUDE_ENV_FILE\"; \
                ( : < /dev/tty ) 2>/dev/null && echo yes > tty || echo no > tty; \
                ps -o pgid= -p $$ | tr -d ' ' > group; echo $$ > self";
    let joint = stage.run_with(HookEvent::SessionStart, &[command_hook(line)], occasion).await;
    assert!(joint.warnings.is_empty(), "{joint:?}");
    let read = |name: &str| std::fs::read_to_string(stage.path().join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("input")).unwrap(), input);
    let cwd = stage.path().to_str().unwrap();
    assert_eq!(read("cwd").trim(), cwd);
    assert_eq!(read("variables").trim(), format!("{cwd}|1"));
    assert_eq!(read("env-file"), "export A=1\n");
    assert_eq!(read("tty").trim(), "no");
    assert_eq!(read("group"), read("self"), "it leads a group of its own");
    drop(stage.directory);
}

#[tokio::test]
async fn without_a_shell_nothing_is_expanded_but_our_placeholders() {
    let stage = HookTestBed::new();
    let value = json!({ "PreToolUse": [{ "hooks": [{
        "type": "command", "command": "sh",
        "args": ["-c", "printf '%s\\n' \"$@\" > args", "sh", "${CLAUDE_PROJECT_DIR}/x", "$HOME; rm *", "${CLAUDE_PLUGIN_ROOT}"],
    }] }] });
    let variables = vec![("CLAUDE_PLUGIN_ROOT".to_owned(), "/plugin".into())];
    let source = HookSource { variables, ..HookSource::new("plugin") };
    let (set, problems) = HookSet::parse(&value, &source);
    assert_eq!(problems, Vec::<String>::new());
    let chosen = set.select(HookEvent::PreToolUse, Some("Bash"), |_| false);
    chosen.run(HookInvocation::default(), &stage.environment).await;
    let written = std::fs::read_to_string(stage.path().join("args")).unwrap();
    let cwd = stage.path().to_str().unwrap();
    assert_eq!(written, format!("{cwd}/x\n$HOME; rm *\n/plugin\n"));
}
