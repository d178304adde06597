//! What keeps the model in the picture: files that change behind its back, files read again after a
//! compaction, notes and skills found beside the call, and what fills the window.

use serde_json::json;
use windlass_driver::{AttachmentFinder, MemoryFolder, SkillFolders};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::context_usage::ContextComponent;
use windlass_vocabulary::{
    AttachmentKind, MessageOrigin, Notice, Outcome, RequestSource, Terminal, WireFormat,
};

use crate::fixture::{
    FixtureOptions, SessionFixture, assert_completed, assert_ended, last_request,
};

fn is_attached(kind: AttachmentKind) -> impl Fn(&Notice) -> bool {
    move |notice| {
        matches!(notice, Notice::MessageAdded(message)
            if message.origin == MessageOrigin::Attachment(kind))
    }
}

#[tokio::test]
async fn a_file_that_changed_behind_its_back_is_told_at_the_next_tool_boundary() {
    let options = FixtureOptions::default().with(|settings| settings.switches.prefetch = true);
    let path = options.directory.path().join("notes.txt");
    std::fs::write(&path, "first\n").unwrap();
    let read = || Says::call("Read", json!({ "file_path": path }));
    // The command stands for an editor: what it does to the file is not seen by the file tools.
    let change = format!("echo second >> {}", path.display());
    // It is looked for beside the turns, on a thread of its own: a busy machine may take several of them.
    let more = (0..20).map(|turn| Says::call("Bash", json!({ "command": format!("true {turn}") })));
    let script = [read(), Says::call("Bash", json!({ "command": change }))].into_iter();
    let mut fixture = options.play(script.chain(more).chain([Says::text("seen")])).await;
    let (ending, received) = fixture.run("read it").await;
    assert_completed(&ending);
    assert_eq!(received.iter().filter(|n| is_attached(AttachmentKind::ChangedFiles)(n)).count(), 1);
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(
        sent.contains("Files you have seen changed since") && sent.contains("second"),
        "{sent}"
    );
}

#[tokio::test]
async fn files_in_hand_are_read_again_beside_a_summary() {
    let options = FixtureOptions::default();
    let path = options.directory.path().join("code.rs");
    std::fs::write(&path, "fn old() {}\n".repeat(500)).unwrap();
    let rename = format!("printf 'fn new() {{}}\\n' > {}; mkdir -p deep; cd deep", path.display());
    let mut fixture = options
        .play([
            Says::call("Read", json!({ "file_path": path })),
            Says::call("Bash", json!({ "command": rename })),
            Says::text("done"),
            Says::text("They looked at a file.").when_source(RequestSource::Compaction),
            Says::call("Bash", json!({ "command": "true" })),
            Says::text("go on then"),
        ])
        .await;
    assert_completed(&fixture.run("read it").await.0);
    fixture.session.compact(Some("the file".to_owned())).unwrap();
    let (ending, received) = fixture.ending().await;
    assert_ended(&ending, Terminal::Completed);
    assert_eq!(ending.outcome, Some(Outcome::Compacted), "{received:#?}");
    let order = last_request(&fixture.rehearsal).to_string();
    assert!(order.contains("the file"), "{order}");
    // Read again beside the summary, it stands behind it, or at the next tool boundary if the disk
    // was slower than the model.
    assert_completed(&fixture.run("go on").await.0);
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(sent.contains("They looked at a file."), "{sent}");
    assert!(sent.contains("fn new()") && !sent.contains("fn old()"), "as it is now: {sent}");
    assert!(sent.contains("/deep"), "where the shell stands: {sent}");
}

#[tokio::test]
async fn notes_and_skills_that_fit_are_found_beside_the_call() {
    let options = FixtureOptions::default().with(|settings| settings.switches.prefetch = true);
    let folder = options.directory.path();
    let (notes, skills) = (folder.join("notes"), folder.join("skills"));
    for (path, text) in [
        (notes.join("anchor.md"), "Weighing the anchor takes the whole crew.\n<!-- pin -->"),
        (notes.join("galley.md"), "Supper is at eight."),
        (notes.join("anchor.txt"), "anchor crew, but no note"),
        (
            skills.join("anchoring/SKILL.md"),
            "---\nname: anchoring\ndescription: Drop an anchor well.\n---\nBody.",
        ),
        (skills.join("cooking/SKILL.md"), "---\ndescription: Make supper.\n---\nBody."),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    // The call ends when both have been found.
    let (first, second) = (folder.join("first"), folder.join("second"));
    let (one, two) = (first.display(), second.display());
    let wait = format!("until [ -e {one} ] && [ -e {two} ]; do :; done");
    let rehearsal = crate::fixture::rehearse([
        Says::call("Bash", json!({ "command": wait })),
        Says::text("aye"),
    ])
    .await;
    let memory = Marking { finder: MemoryFolder::new(&notes), marker: first };
    let skills = Marking { finder: SkillFolders::new(vec![skills]), marker: second };
    let builder = options.builder(&rehearsal.url()).memory(memory).skills(skills);
    let (session, notices) = builder.start().unwrap();
    session.submit("should the crew weigh the anchor").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let wire = WireFormat::AnthropicMessages;
    let mut fixture = SessionFixture { rehearsal, session, notices, directory, wire };
    let (ending, _) = fixture.ending().await;
    assert_completed(&ending);
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(sent.contains("takes the whole crew") && !sent.contains("Supper"), "{sent}");
    assert!(sent.contains("anchoring") && !sent.contains("cooking"), "{sent}");
    let inventory = fixture.session.inventory().await.unwrap();
    let components: Vec<&ContextComponent> =
        inventory.parts.iter().map(|part| &part.component).collect();
    assert!(components.contains(&&ContextComponent::Pins), "the note asks for it: {components:?}");
    assert!(components.contains(&&ContextComponent::Results("Bash".to_owned())), "{components:?}");
    let sum: u64 = inventory.parts.iter().map(|part| part.tokens.0).sum();
    assert!(sum <= inventory.total.0 && sum + 20 > inventory.total.0, "{inventory:#?}");
    assert_eq!(
        inventory.free_tokens().0 + inventory.total.0 + inventory.reserved.0,
        inventory.window.0
    );
}

/// Leaves a file behind when it has looked.
#[derive(Debug)]
struct Marking<F> {
    finder: F,
    marker: std::path::PathBuf,
}

impl<F: AttachmentFinder> AttachmentFinder for Marking<F> {
    fn find(&self, prompt: &str) -> Option<String> {
        let found = self.finder.find(prompt);
        std::fs::write(&self.marker, "").unwrap();
        found
    }
}
