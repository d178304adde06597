//! Skills: found by name, filled with arguments, never run.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::json;
use windlass_permission::{Rule, Rules};
use windlass_tool::{ToolRegistry, ToolSessionContext};
use windlass_vocabulary::ToolInspection;

use crate::test_project::{TestProject, text};

/// A world with two folders of skills.
fn project() -> TestProject {
    let mut project = TestProject::with(|context| {
        context.skill_directories =
            ["mine", "theirs"].map(|name| context.files.cwd.join(name)).into();
    });
    project.registry.insert_skills(&project.context);
    let skills = [
        (
            "mine/deploy",
            "---\nname: deploy\ndescription: d\n---\n\nShip $ARGUMENTS now: $ARGUMENTS!\n",
        ),
        ("mine/plain", "Just do it.\n"),
        ("mine/folder", "---\nname: \"other-name\"\n---\n!`touch ran` $(touch ran)\n"),
        ("mine/open", "---\nname: never closed\n"),
        ("theirs/deploy", "The second of its name.\n"),
        ("theirs/review", "---\r\nname: review\r\n---\r\nReview.\r\n"),
    ];
    for (folder, body) in skills {
        project.write(&format!("{folder}/SKILL.md"), body);
    }
    project.write("mine/no-skill/README.md", "nothing");
    project
}

#[tokio::test]
async fn a_skill_is_loaded_with_its_arguments() {
    let project = project();
    let cases = [
        (json!({"skill": "deploy", "args": "it all"}), ":\n\nShip it all now: it all!\n"),
        (json!({"skill": "/deploy"}), ":\n\nShip  now: !\n"),
        (json!({"skill": "plain"}), ":\n\nJust do it.\n"),
        (json!({"skill": "plain", "args": "twice"}), ":\n\nJust do it.\n\nARGUMENTS: twice"),
        (json!({"skill": "other-name"}), ":\n\n!`touch ran` $(touch ran)\n"),
        (json!({"skill": "review"}), ":\n\nReview.\r\n"),
        (json!({"skill": "open"}), ":\n\n---\nname: never closed\n"),
    ];
    for (input, expected) in cases {
        assert_eq!(project.inspect("Skill", &input), ToolInspection::SHARED_READ);
        let outcome = project.call("Skill", input.clone()).await;
        assert!(!outcome.is_error && text(&outcome).ends_with(expected), "{input}: {outcome:?}");
    }
    let outcome = project.call("Skill", json!({"skill": "deploy"})).await;
    let folder = project.path("mine/deploy").display().to_string();
    assert!(text(&outcome).contains(&folder), "its other files can be found: {outcome:?}");
    assert!(!project.path("ran").exists());
}

#[tokio::test]
async fn an_unknown_skill_is_answered_with_those_there_are() {
    let project = project();
    for name in ["depoly", "folder", "../mine/plain", "no-skill", "mine/plain"] {
        let outcome = project.call("Skill", json!({ "skill": name })).await;
        let expected = format!(
            "There is no skill `{name}`. There are: deploy, other-name, open, plain, review."
        );
        assert_eq!((outcome.is_error, text(&outcome)), (true, expected.as_str()));
    }
    for (input, why) in [
        (json!({}), "missing field `skill`"),
        (json!({"skill": " / "}), "There is no skill"),
        (json!({"skill": ""}), "field `skill`: empty"),
        (json!({"skill": "plain", "args": "x".repeat(10_001)}), "field `args`: more than"),
    ] {
        let outcome = project.call("Skill", input).await;
        assert!(outcome.is_error && text(&outcome).contains(why), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_skill_shows_nothing_but_itself() {
    let mut project = project();
    let secret = project.write("secret", "the secret");
    project.write("elsewhere/linked/SKILL.md", "A folder may be a link.");
    symlink(project.path("elsewhere/linked"), project.path("mine/linked")).unwrap();
    std::fs::create_dir(project.path("mine/thief")).unwrap();
    symlink(&secret, project.path("mine/thief/SKILL.md")).unwrap();
    std::fs::create_dir_all(project.path("mine/directory/SKILL.md")).unwrap();
    project.write("mine/huge/SKILL.md", "x".repeat(100_001));
    project.write("mine/binary/SKILL.md", [0xff, 0xfe, 0x00]);
    project.write("mine/greedy/SKILL.md", "$ARGUMENTS".repeat(9_000));
    let load = async |project: &TestProject, name: &str, args: &str| {
        project.call("Skill", json!({"skill": name, "args": args})).await
    };
    for name in ["thief", "directory", "huge", "binary"] {
        let outcome = load(&project, name, "").await;
        assert!(outcome.is_error && text(&outcome).contains("There is no skill"), "{outcome:?}");
    }
    assert!(!load(&project, "linked", "").await.is_error);
    let outcome = load(&project, "greedy", &"x".repeat(10_000)).await;
    assert!(outcome.is_error && text(&outcome).contains("over 100000 bytes"));
    // What may not be read is not loaded either.
    let deny = vec![Rule::parse("Read(./mine/plain/**)").unwrap()];
    let rules = Rules { deny, ..Rules::default() };
    let mut context = ToolSessionContext::new(&project.root, project.path("spill"));
    context.skill_directories = project.context.skill_directories.clone();
    context.hidden_paths.configured =
        rules.build_hidden_paths(&[project.root.display().to_string()]);
    project.context = Arc::new(context);
    assert!(load(&project, "plain", "").await.is_error);
    assert!(!load(&project, "deploy", "").await.is_error);
}

#[test]
fn the_tool_is_there_when_there_are_folders() {
    let mut registry = ToolRegistry::with_builtin_tools();
    let mut context = ToolSessionContext::new("/w", "/w/spill");
    registry.insert_skills(&context);
    assert!(registry.get("Skill").is_none());
    context.skill_directories.push("/w/skills".into());
    registry.insert_skills(&context);
    assert!(registry.specs().iter().any(|spec| spec.name.as_str() == "Skill"));
    assert_eq!(context.for_subagent().skill_directories, context.skill_directories);
}
