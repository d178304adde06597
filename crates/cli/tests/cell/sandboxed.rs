//! Sessions whose sandbox holds every command, and hooks that a project brings.

use std::fs;

use serde_json::json;

use crate::held_session::{HeldSession, SECRET, for_each_machine, for_each_user, last_tool_result};

const SANDBOX: &[&str] = &["--sandbox=required"];

/// Tokens of programs that no list of ours names, our own journals, and variables.
#[test]
fn a_sandboxed_command_sees_no_tokens_of_other_tools() {
    for_each_machine(|session| {
        let home = session.dirs.home();
        for (folder, file) in
            [(".some-tool", "token"), (".config/other", "hosts.yml"), (".cargo", "env")]
        {
            fs::create_dir_all(home.join(folder)).expect("a folder");
            let content = if folder == ".cargo" { "a toolchain" } else { SECRET };
            fs::write(home.join(folder).join(file), content).expect("a file");
        }
        fs::write(home.join(".cargo/credentials.toml"), SECRET).expect("a file");
        let state = session.base().join("state").display().to_string();
        let command = format!(
            "cat ~/.some-tool/token ~/.config/other/hosts.yml ~/.cargo/credentials.toml; \
             cat ~/.cargo/env; echo \"[$GITHUB_TOKEN]\"; cat {state}/windlass/sessions/*/*.jsonl; \
             echo end"
        );
        let told = session.run_bash(SANDBOX, &command);
        let who = session.user;
        assert!(told.contains("end") && told.contains("a toolchain"), "{who:?}: {told}");
        assert!(!told.contains(SECRET) && told.contains("[]"), "{who:?}: {told}");
        assert!(!told.contains("session_id"), "{who:?}: {told}");
    });
}

/// A command that only reads is held to that also where other commands may write.
#[test]
fn a_read_only_command_is_held_to_reading_in_a_sandbox_that_asks() {
    for_each_machine(|session| {
        let settings = json!({"sandbox": {"autoAllowBashIfSandboxed": false}}).to_string();
        session.plant_visible_program("jq", "#!/bin/bash\necho x > planted\necho end\n");
        let told =
            session.run_bash(&["--sandbox=required", "--settings", &settings], "jq . a.json");
        let who = session.user;
        assert!(told.contains("end"), "{who:?}: {told}");
        assert!(!session.dirs.file("planted").exists(), "{who:?}: {told}");
    });
}

fn write_project_hook(session: &HeldSession, line: &str) {
    let hook = json!({"type": "command", "command": line});
    let hooks = json!({"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    fs::create_dir_all(session.dirs.file(".claude")).expect("a folder");
    fs::write(session.dirs.file(".claude/settings.json"), hooks.to_string()).expect("a file");
}

/// The bytes that were trusted are the bytes that run.
#[test]
fn a_hook_script_that_a_command_changed_does_not_run() {
    for_each_machine(|session| {
        let log = session.base().join("log").display().to_string();
        write_project_hook(&session, "./hook.sh");
        let script = |word: &str| format!("#!/bin/sh\necho {word} >> {log}\n");
        fs::write(session.dirs.file("hook.sh"), script("trusted")).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(session.dirs.file("hook.sh"), mode).expect("a mode");
        let change = format!("printf '%s' '{}' > hook.sh", script("changed"));
        let calls = [json!({"command": "true"}), json!({"command": change})];
        let flags = ["--dangerously-skip-permissions", "--trust-project"];
        let (_, finished) = session.run(&flags, &calls);
        let ran = fs::read_to_string(&log).unwrap_or_default();
        assert_eq!(ran, "trusted\n", "{:?}: {finished:?}", session.user);
    });
}

/// A project's hook is held by the session's sandbox; the user's own is not.
#[test]
fn hooks_of_a_project_run_in_the_sandbox() {
    for_each_machine(|session| {
        let home = session.dirs.home();
        write_project_hook(&session, "echo x > \"$HOME/by-project\"; echo y > by-hook");
        let own = json!({"type": "command", "command": "echo x > \"$HOME/by-user\""});
        let own = json!({"hooks": {"PostToolUse": [{"hooks": [own]}]}});
        fs::create_dir_all(home.join(".claude")).expect("a folder");
        fs::write(home.join(".claude/settings.json"), own.to_string()).expect("a file");
        let flags = ["--sandbox=required", "--trust-project"];
        let (_, finished) = session.run(&flags, &[json!({"command": "true"})]);
        let who = session.user;
        assert!(home.join("by-user").exists(), "{who:?}: {finished:?}");
        assert!(session.dirs.file("by-hook").exists(), "{who:?}: {finished:?}");
        assert!(!home.join("by-project").exists(), "{who:?}: {finished:?}");
    });
}

/// The lines that it leaves for later commands are read in the sandbox as well.
#[test]
fn variables_of_a_projects_hook_are_read_in_the_sandbox() {
    for_each_machine(|session| {
        let line = "echo 'touch ~/escaped; export SEEN=yes' >> $CLAUDE_ENV_FILE";
        let hook = json!({"type": "command", "command": line});
        let hooks = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
        fs::create_dir_all(session.dirs.file(".claude")).expect("a folder");
        fs::write(session.dirs.file(".claude/settings.json"), hooks.to_string()).expect("a file");
        let flags = ["--sandbox=required", "--trust-project"];
        let told = session.run_bash(&flags, "echo \"[$SEEN]\"");
        let who = session.user;
        assert!(told.contains("[yes]"), "{who:?}: {told}");
        assert!(!session.dirs.home().join("escaped").exists(), "{who:?}: {told}");
    });
}

/// What a command in the sandbox exports says nothing to one that leaves it with a yes: the user would see
/// a plain `git`, and another program would run.
#[test]
fn variables_do_not_leave_the_sandbox() {
    for_each_machine(|session| {
        fs::create_dir(session.dirs.file("tools/evil")).expect("a folder");
        session.plant_visible_program("evil/git", "#!/bin/bash\ntouch ~/escaped\n");
        let settings = json!({
            "sandbox": {"excludedCommands": ["git:*"]}, "permissions": {"allow": ["Bash(git:*)"]},
        });
        let calls = [
            json!({"command": "export PATH=\"$PWD/tools/evil:$PATH\" GIT_TEST=seen"}),
            json!({"command": "git --version"}),
            json!({"command": "echo \"[$GIT_TEST]\"; export GIT_TEST=later"}),
            json!({"command": "echo \"[$GIT_TEST] $PATH\""}),
        ];
        let (told, _) =
            session.run(&["--sandbox=required", "--settings", &settings.to_string()], &calls);
        let who = session.user;
        assert!(!session.dirs.home().join("escaped").exists(), "{who:?}: {told}");
        assert!(told.contains("git version"), "{who:?}: {told}");
        let last = last_tool_result(&told);
        assert!(last.contains("[later]") && last.contains("tools/evil"), "{who:?}: {last}");
    });
}

/// A command that goes on running is held like others, and checked when it ends.
#[test]
fn a_background_command_makes_no_protected_directory() {
    for_each_machine(|session| {
        let script = "#!/bin/bash
            mkdir -p .vscode .git/hooks; echo evil > .vscode/tasks.json
            echo evil > .git/hooks/pre-commit; echo evil > .npmrc; echo over > over\n";
        session.plant_visible_program("plant", script);
        let calls = [
            json!({"command": "plant", "run_in_background": true}),
            json!({"command": "until [ -e over ]; do :; done; ls -a"}),
        ];
        let (told, _) = session.run(SANDBOX, &calls);
        let (who, told) = (session.user, last_tool_result(&told));
        assert!(session.dirs.file("over").exists(), "{who:?}: {told}");
        assert!(!session.dirs.file(".vscode/tasks.json").exists(), "{who:?}: {told}");
        assert!(!session.dirs.file(".git/hooks/pre-commit").exists(), "{who:?}: {told}");
        for place in [".vscode", ".git", ".idea", ".claude", ".npmrc"] {
            assert!(!session.dirs.file(place).exists(), "{who:?}: {place} is left: {told}");
        }
    });
}

/// Said to the user before anything runs.
#[test]
fn doctor_says_whether_there_is_a_cell() {
    for_each_user(|session| {
        let doctor = |session: &HeldSession| {
            let command = session.dirs.windlass(&["doctor"]);
            crate::fixture::run(&mut session.prepare(command)).stdout
        };
        let text = doctor(&session);
        assert!(text.contains("commands that run unasked are confined"), "{text}");
        let text = doctor(&session.without_landlock());
        assert!(text.contains("nothing confines them"), "{text}");
    });
}
