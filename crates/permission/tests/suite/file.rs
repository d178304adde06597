//! Rules about files, tools by name, and single fields.

use std::path::Path;

use serde_json::json;
use windlass_permission::{CellSupport, PathEntry, PriorDecision, Rule, VirtualTree};
use windlass_vocabulary::PermissionMode;

use crate::case::{Allow, Ask, Deny, Outcome, policy, rule_on, rule_with_files};

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

/// The tools open a relative path from the main directory, wherever the shell is.
#[test]
fn the_shells_directory_does_not_move_the_file_tools() {
    let mut policy = policy(PermissionMode::AcceptEdits, &["-Read(./secret)"]);
    policy.standing = Some("/w/repo/deep/below".to_owned());
    for (tool, path, expected) in [
        ("Read", "../x", Ask),
        ("Write", "../x", Ask),
        ("Read", "../../repo/x", Ask),
        ("Read", "secret", Deny),
        ("Read", "x", Allow),
    ] {
        let (got, why) = rule_on(&policy, tool, &json!({ "file_path": path }), PriorDecision::None);
        assert_eq!(got, expected, "{tool} {path}: {why}");
    }
    let search = json!({"pattern": "x", "path": "../.."});
    assert_eq!(rule_on(&policy, "Grep", &search, PriorDecision::None).0, Ask);
}

#[test]
fn no_working_directory_opens_the_places_of_keys() {
    let mut tree = VirtualTree::new(Some("/link".into()));
    tree.insert(Path::new("/link"), PathEntry::Symlink("/data/me".into()));
    tree.insert(Path::new("/data/me/.ssh/id_rsa"), PathEntry::File);
    tree.insert(Path::new("/data/me/notes"), PathEntry::File);
    tree.insert(Path::new("/data/me/.config/gh/hosts.yml"), PathEntry::File);
    let rule_in = |root: &str, rules: &[&str], tool: &str, input: &serde_json::Value| {
        let mut policy = policy(PermissionMode::AcceptEdits, rules);
        policy.directories = vec![root.to_owned()];
        policy.cell = CellSupport::Missing;
        rule_with_files(&policy, tool, input, &tree)
    };
    for root in ["/link", "/data/me", "/data", "/"] {
        for path in ["/data/me/.ssh/id_rsa", "/link/.ssh/id_rsa"] {
            for tool in ["Read", "Write"] {
                let (got, why) = rule_in(root, &[], tool, &json!({ "file_path": path }));
                assert_eq!(got, Ask, "{root} {tool} {path}: {why}");
            }
            let (got, why) = rule_in(root, &[], "Grep", &json!({"pattern": "x", "path": path}));
            assert_eq!(got, Ask, "{root} {path}: {why}");
            let command = json!({ "command": format!("cat {path}") });
            let (got, why) = rule_in(root, &[], "Bash", &command);
            assert_eq!(got, Ask, "{root} {command}: {why}");
        }
        let walk = json!({"command": format!("grep -rl x {}", root)});
        assert_eq!(rule_in(root, &[], "Bash", &walk).0, Ask, "{root}: nothing hides them");
        for command in ["cp -r .config c", "mv .config c", "mv .c* c", "rm -r .config"] {
            let command = json!({ "command": format!("cd /data/me && {command}") });
            let (got, why) = rule_in(root, &[], "Bash", &command);
            assert_eq!(got, Ask, "{root} {command}: {why}");
        }
        let key = json!({"file_path": "/data/me/.ssh/id_rsa"});
        let (_, why) = rule_in(root, &[], "Read", &key);
        assert!(why.contains("Read(//data/me/.ssh/id_rsa)") && !why.contains("**"), "{why}");
        let note = json!({"file_path": "/data/me/notes"});
        assert_eq!(rule_in(root, &["+Read(//**)"], "Read", &note).0, Allow, "{root}");
        let key = json!({"file_path": "/data/me/.ssh/id_rsa"});
        assert_eq!(rule_in(root, &["+Read(//data/**)"], "Read", &key).0, Allow, "{root}");
    }
    // A working directory inside of one was chosen on purpose.
    let key = json!({"file_path": "/data/me/.ssh/id_rsa"});
    assert_eq!(rule_in("/data/me/.ssh", &[], "Read", &key).0, Allow);
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
