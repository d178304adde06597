//! Pages that people keep as commands: their words in place, their commands run under the rules, the
//! files a prompt mentions behind it.

use std::path::Path;

use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run, run_with_input};

fn write(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

/// What the user said last, as the model sees it.
fn last_prompt(server: &Rehearsal) -> String {
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let last = body["messages"].as_array().and_then(|all| all.last().cloned()).expect("a message");
    let blocks = last["content"].as_array().cloned().unwrap_or_default();
    let mut texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.next_back().unwrap_or_default().to_owned()
}

/// Everything in it.
fn asked_in_all(server: &Rehearsal) -> String {
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let last = body["messages"].as_array().and_then(|all| all.last().cloned()).expect("a message");
    let blocks = last["content"].as_array().cloned().unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_page_is_said_with_its_words_in_place() {
    let dirs = TestDirs::new();
    let server = server();
    let own = dirs.home().join(".claude/commands");
    write(own.join("fix.md"), "---\nargument-hint: ISSUE\n---\nFix $0, then tell $ARGUMENTS[1].\n");
    write(own.join("team/plain.md"), "# Do it\nJust do it.\n");
    write(dirs.file(".claude/commands/fix.md"), "the project's");
    write(dirs.file(".claude/commands/near.md"), "Look around.");
    for (prompt, said) in [
        ("/fix 12 'Ada L.'", "Fix 12, then tell Ada L.."),
        ("/plain and well", "# Do it\nJust do it.\n\nARGUMENTS: and well"),
        ("/team:plain", "# Do it\nJust do it."),
        ("/near", "Look around."),
        ("/etc/passwd is what?", "/etc/passwd is what?"),
    ] {
        run(&mut dirs.asking(&server.url(), &["-p", prompt])).answer();
        assert_eq!(last_prompt(&server).trim_end(), said, "{prompt}");
    }
    // One that is in no such folder is a mistyped one.
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "/other:plain"]));
    assert!(finished.error_line(2).contains("unknown command /other:plain"), "{finished:?}");
    let help = run(&mut dirs.asking(&server.url(), &["-p", "/help"])).answer().to_owned();
    for line in ["/compact [FOCUS]", "/fix ISSUE", "/team:plain", "/near"] {
        assert!(help.contains(line), "{line}: {help}");
    }
}

#[test]
fn commands_of_a_page_run_under_the_rules_and_a_project_must_be_trusted() {
    let dirs = TestDirs::new();
    let server = server();
    let own = dirs.home().join(".claude/commands");
    write(dirs.file("note.txt"), "from the note\n");
    write(own.join("look.md"), "It says !`cat note.txt` and\n```!\necho $0\n```\n.");
    write(
        own.join("make.md"),
        "---\nallowed-tools: Bash(touch:*), Read\n---\nMade !`touch made.txt && echo it`.",
    );
    write(own.join("never.md"), "!`touch forbidden.txt`");
    write(dirs.file(".claude/commands/theirs.md"), "!`echo hello`");
    let ask = |prompt: &str| run(&mut dirs.asking(&server.url(), &["-p", prompt]));
    ask("/look twice").answer();
    assert_eq!(last_prompt(&server), "It says from the note and\ntwice\n.");
    ask("/make").answer();
    assert_eq!(last_prompt(&server), "Made it.");
    assert!(dirs.file("made.txt").exists());
    let before = server.requests().len();
    for (prompt, why) in [("/never", "was not run"), ("/theirs", "is not trusted")] {
        let finished = ask(prompt);
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert!(finished.stderr.contains(why), "{finished:?}");
    }
    assert!(!dirs.file("forbidden.txt").exists());
    assert_eq!(server.requests().len(), before, "nothing was asked of the model");
}

#[test]
fn files_a_prompt_mentions_come_with_it_unless_a_rule_forbids() {
    let dirs = TestDirs::new();
    let server = server();
    write(dirs.file("docs/a.md"), "alpha\n");
    write(dirs.file("secret/key"), "hush\n");
    let flags = [
        "-p",
        "Compare @docs/a.md, @secret/key and mail@docs/a.md @nothing",
        "--disallowedTools",
        "Read(secret/**)",
    ];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let said = asked_in_all(&server);
    assert!(said.contains("Compare @docs/a.md,"), "{said}");
    assert!(said.contains("@docs/a.md:\n") && said.contains("alpha"), "{said}");
    assert!(
        said.contains("@secret/key:\n(It was not attached") && !said.contains("hush"),
        "{said}"
    );
    assert!(!said.contains("@nothing:"), "{said}");
}

/// Logs, diffs and messages are piped in, and others write them.
#[test]
fn a_file_that_is_named_in_piped_text_is_read_only_if_the_model_may_read_it_unasked() {
    let dirs = TestDirs::new();
    let server = server();
    write(dirs.file("docs/a.md"), "alpha\n");
    write(dirs.home().join("key.txt"), "hush\n");
    let key = dirs.home().join("key.txt");
    let piped = format!("+ see @docs/a.md and @{}\n", key.display());
    let flags = ["-p", "What changed?"];
    run_with_input(&mut dirs.asking(&server.url(), &flags), piped.as_bytes()).answer();
    let said = asked_in_all(&server);
    assert!(said.contains("What changed?") && said.contains("+ see @docs"), "{said}");
    assert!(said.contains("@docs/a.md:\n") && said.contains("alpha"), "{said}");
    assert!(said.contains("(It was not attached") && !said.contains("hush"), "{said}");
    // Named by the user, it is read as before.
    let prompt = format!("What is in @{}?", key.display());
    let flags = ["-p", prompt.as_str()];
    run_with_input(&mut dirs.asking(&server.url(), &flags), b"nothing").answer();
    assert!(asked_in_all(&server).contains("hush"));
}

#[test]
fn what_is_in_force_can_be_looked_at() {
    let dirs = TestDirs::new();
    let server = server();
    write(dirs.file("CLAUDE.md"), "Be brief.");
    write(
        dirs.file(".claude/agents/reviewer.md"),
        "---\nname: reviewer\ndescription: Reviews changes\n---\nReview.\n",
    );
    for (prompt, words) in [
        ("/memory", "Be brief."),
        ("/agents", "reviewer  Reviews changes"),
        ("/permissions", "deny  Bash(rm:*)"),
        ("/model", "claude-"),
    ] {
        let flags = ["-p", prompt, "--disallowedTools", "Bash(rm:*)"];
        let shown = run(&mut dirs.asking(&server.url(), &flags)).answer().to_owned();
        assert!(shown.contains(words), "{prompt}: {shown}");
    }
    assert!(server.requests().is_empty(), "nothing was asked of the model");
}
