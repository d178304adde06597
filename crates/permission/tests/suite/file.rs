//! Rules about files, tools by name, and single fields.

use std::path::Path;

use serde_json::json;
use windlass_permission::{PriorDecision, Rule};
use windlass_vocabulary::PermissionMode;

use crate::case::{Allow, Ask, Deny, Outcome, policy, rule_on};

fn table(cases: &[(&[&str], &str, &str, Outcome)]) {
    for (rules, tool, path, expected) in cases {
        let input = match *tool {
            "Glob" | "Grep" => json!({"path": path, "pattern": "x"}),
            "NotebookEdit" => json!({"notebook_path": path}),
            _ => json!({"file_path": path}),
        };
        let (got, why) =
            rule_on(&policy(PermissionMode::Default, rules), tool, &input, PriorDecision::None);
        assert_eq!(got, *expected, "{rules:?} on {tool} {path}: {why}");
    }
}

#[test]
fn reading_inside_is_free_and_the_rest_asks() {
    table(&[
        (&[], "Read", "/w/repo/a", Allow),
        (&[], "Read", "a", Allow),
        (&[], "Read", "/w/more/a", Allow),
        (&[], "Read", "/w/repository", Ask),
        (&[], "Read", "/w/repo/../x", Ask),
        (&[], "Read", "~/x", Allow),
        (&[], "Read", "", Ask),
        (&[], "Glob", "/w/repo", Allow),
        (&[], "Grep", "/", Ask),
        (&[], "Edit", "/w/repo/a", Ask),
        (&[], "Write", "/etc/a", Ask),
    ]);
    let nowhere = rule_on(
        &policy(PermissionMode::Default, &[]),
        "Grep",
        &json!({"pattern": "x"}),
        PriorDecision::None,
    );
    assert_eq!(nowhere.0, Allow);
}

#[test]
fn patterns_follow_the_ignore_syntax() {
    table(&[
        (&["+Edit(src/**)"], "Edit", "/w/repo/src/a", Allow),
        (&["+Edit(src/**)"], "Write", "/w/repo/src/deep/a", Allow),
        (&["+Edit(src/**)"], "NotebookEdit", "/w/repo/src/a.ipynb", Allow),
        (&["+Edit(src/**)"], "Edit", "/w/repo/sub/src/a", Ask),
        (&["+Edit(src/**)"], "Edit", "/w/repo/src", Ask),
        (&["+Edit(src/**)"], "Edit", "/w/repo/src/../a", Ask),
        (&["+Edit(./src/**)"], "Edit", "/w/repo/src/a", Allow),
        (&["+Edit(/src/**)"], "Edit", "/w/repo/src/a", Allow),
        (&["+Edit(src)"], "Edit", "/w/repo/src/a", Ask),
        (&["+Edit(./src/)"], "Edit", "/w/repo/src/a", Allow),
        (&["+Edit(*.md)"], "Edit", "/w/repo/docs/deep/a.md", Allow),
        (&["+Edit(docs/*.md)"], "Edit", "/w/repo/docs/a.md", Allow),
        (&["+Edit(docs/*.md)"], "Edit", "/w/repo/docs/deep/a.md", Ask),
        (&["+Edit(docs/**/*.md)"], "Edit", "/w/repo/docs/deep/er/a.md", Allow),
        (&["+Edit(docs/**/*.md)"], "Edit", "/w/repo/docs/a.md", Allow),
        (&["+Edit(**/a?.md)"], "Edit", "/w/repo/x/ab.md", Allow),
        (&["+Edit(**)"], "Edit", "/w/repo/x/y", Allow),
        (&["+Edit(**)"], "Edit", "/etc/x", Ask),
        (&["+Edit(//tmp/**)"], "Edit", "/tmp/x/y", Allow),
        (&["+Edit(//tmp/**)"], "Edit", "/tmpx/y", Ask),
        (&["+Edit(~/x/**)"], "Edit", "/home/u/x/y", Ask),
        (&["+Edit"], "Write", "/etc/x", Allow),
        (&["+Write(src/**)"], "Write", "/w/repo/src/a", Ask),
        (&["+Edit(SRC/**)"], "Edit", "/w/repo/src/a", Ask),
        (&["+Read(//etc/**)"], "Grep", "/etc/x", Allow),
        (&["+Read(//etc/**)"], "Edit", "/etc/x", Ask),
        (&["-Read(.env)"], "Read", "/w/repo/.env", Deny),
        (&["-Read(.env)"], "Read", "/w/repo/deep/.env", Deny),
        (&["-Read(.env)"], "Read", "/w/repo/.ENV", Deny),
        (&["-Read(.env)"], "Read", "/w/repo/.env.local", Allow),
        (&["-Read(.env*)"], "Read", "/w/repo/.env.local", Deny),
        (&["-Read([.]env)"], "Read", "/w/repo/.env", Deny),
        (&["-Read(secrets/**)"], "Read", "/w/repo/deep/secrets/x/y", Deny),
        (&["-Read(secrets/**)"], "Grep", "/w/repo/secrets", Deny),
        (&["-Read(secrets)"], "Read", "/w/repo/secrets/x", Deny),
        (&["-Read(./secrets/**)"], "Read", "/w/repo/deep/secrets/x", Allow),
        (&["-Read(~/.ssh/**)", "+Read"], "Read", "/home/u/.ssh/id", Deny),
        (&["-Read(**/*.key)", "+Read"], "Read", "/elsewhere/x.key", Deny),
        (&["-Read(.env)", "+Edit"], "Edit", "/w/repo/.env", Deny),
        (&["?Read(.env)", "+Edit"], "Edit", "/w/repo/.env", Allow),
        (&["-Edit(.env)", "+Edit"], "Write", "/w/repo/.env", Deny),
        (&["-Edit(.env)"], "Read", "/w/repo/.env", Allow),
        (&["-Write(.env)", "+Edit"], "Write", "/w/repo/.env", Deny),
    ]);
    let home = Rule::parse("Edit(~/x/**)").unwrap().with_home("/home/u");
    assert_eq!(home.to_string(), "Edit(//home/u/x/**)");
}

#[test]
fn protected_places_ask_whatever_the_rules() {
    for path in [
        ".git/config",
        "sub/.git/hooks/x",
        ".GIT/x",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/x",
        ".bashrc",
        "x/.envrc",
        ".config/git/config",
        ".ssh/authorized_keys",
        "lefthook.yml",
        ".cargo/config.toml",
        "mise.toml",
        ".mise.toml",
        ".mise/config.toml",
        ".helix/languages.toml",
        ".dir-locals.el",
        ".nvim.lua",
        ".nvimrc",
        ".exrc",
        ".ycm_extra_conf.py",
    ] {
        let path = format!("/w/repo/{path}");
        table(&[
            (&["+Edit"], "Edit", &path, Ask),
            (&["+Edit"], "Write", &path, Ask),
            (&[], "Read", &path, Allow),
        ]);
    }
    table(&[
        (&["+Edit"], "Edit", "/w/repo/.claude/worktrees/x", Allow),
        (&["+Edit"], "Edit", "/w/repo/.gitignore", Allow),
        (&["+Edit"], "Edit", "/w/repo/.github/workflows/x.yml", Allow),
        (&["+Edit"], "Edit", "/w/repo/.config/gitx", Allow),
    ]);
}

#[test]
fn tools_are_named_literally_or_by_server() {
    let cases: &[(&[&str], &str, Outcome)] = &[
        (&[], "mcp__s__read", Ask),
        (&[], "WebFetch", Ask),
        (&[], "TodoWrite", Allow),
        (&["+mcp__s"], "mcp__s__write", Allow),
        (&["+mcp__s"], "mcp__stranger__write", Ask),
        (&["+mcp__s__*"], "mcp__s__write", Allow),
        (&["+mcp__s__wr*"], "mcp__s__read", Ask),
        (&["+mcp__*"], "mcp__s__write", Ask),
        (&["-mcp__*", "+mcp__s"], "mcp__s__write", Deny),
        (&["-mcp__s", "+mcp__s__write"], "mcp__s__write", Deny),
        (&["?mcp__s", "+mcp__s__write"], "mcp__s__write", Ask),
        (&["+Other"], "Other", Allow),
        (&["+other"], "Other", Ask),
        (&["-other", "+Other"], "Other", Deny),
        (&["-Other(size:big)", "+Other"], "Other", Deny),
        (&["-Other(size:b*)", "+Other"], "Other", Deny),
        (&["-Other(size:small)", "+Other"], "Other", Allow),
        (&["+Other(size:big)"], "Other", Ask),
        (&["-WebFetch(domain:example.com)", "+WebFetch"], "WebFetch", Deny),
        (&["+Agent(helper)"], "Agent", Allow),
        (&["+Task(helper)"], "Agent", Allow),
        (&["-Agent(help*)", "+Agent"], "Agent", Deny),
        (&["+AskUserQuestion"], "AskUserQuestion", Ask),
    ];
    for (rules, tool, expected) in cases {
        let input = json!({"size": "big", "subagent_type": "helper"});
        let (got, why) =
            rule_on(&policy(PermissionMode::Default, rules), tool, &input, PriorDecision::None);
        assert_eq!(got, *expected, "{rules:?} on {tool}: {why}");
    }
}

#[test]
fn a_broken_rule_is_named() {
    for (text, problem) in [
        ("Bash(ls", "closing parenthesis"),
        ("(ls)", "name is missing"),
        ("Ba sh", "letters, digits"),
        ("", "name is missing"),
    ] {
        let error = Rule::parse(text).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains(&format!("`{text}`")), "{error}");
    }
    for (text, idle) in [
        ("mcp__*", true),
        ("*", true),
        ("mcp__s__*", false),
        ("Write(x)", true),
        ("Bash(x)", false),
        ("WebFetch(example.org)", true),
        ("WebFetch(domain:https://example.org)", true),
        ("WebFetch(domain:localhost:3000)", true),
        ("WebFetch(domain:*.example.org)", false),
        ("Read(../x/**)", true),
        ("Read(a..b)", false),
    ] {
        assert_eq!(Rule::parse(text).unwrap().explain_idle_allow().is_some(), idle, "{text}");
    }
}

#[test]
fn walking_tools_can_ask_what_is_hidden() {
    let policy =
        policy(PermissionMode::Default, &["-Read(.env)", "-Read(./private/**)", "-Edit(x)"]);
    let hidden = policy.rules.build_hidden_paths(&policy.directories);
    for (path, expected) in [
        ("/w/repo/.env", true),
        ("/w/repo/a/.env", true),
        ("/w/repo/private/x", true),
        ("/w/repo/private", true),
        ("/w/repo/a/private/x", false),
        ("/w/repo/x", false),
    ] {
        assert_eq!(hidden.covers(Path::new(path)), expected, "{path}");
    }
}
