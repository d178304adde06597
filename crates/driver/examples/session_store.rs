//! A folder of sessions: each has a journal and a name, and is found, continued and deleted by it.
//!
//! The folder has the layout the `windlass` command uses, so its `sessions` subcommands read it too.

use std::path::Path;

use windlass_driver::engine_settings::Settings;
use windlass_driver::session_store::SessionCatalogue;
use windlass_driver::vocabulary::{ModelFacts, PermissionAnswer, PermissionQuestion, WireFormat};
use windlass_driver::{Durability, Endpoint, JournalHead, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};

struct Assistant {
    url: String,
    sessions: SessionCatalogue,
}

impl Assistant {
    /// Begins the session with this id, or continues it.
    async fn ask(
        &self,
        project: &Path,
        id: &str,
        question: &str,
    ) -> Result<String, Box<dyn std::error::Error>> {
        let journal = self.sessions.journal_path(project, id);
        if let Some(folder) = journal.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // Written when the journal is new; a list of sessions is made from it.
        let head = JournalHead {
            session: Some(id.into()),
            project: Some(project.display().to_string()),
            ..JournalHead::default()
        };
        let endpoint = Endpoint::new(WireFormat::AnthropicMessages, self.url.as_str());
        let settings = Settings::new(ModelFacts::new("some-model"));
        let (session, mut notices) = SessionBuilder::new(settings, endpoint)
            .journal(journal, Durability::Synced)
            .journal_head(head)
            .start()?;
        let result = session.prompt(question, &mut notices, deny).await?;
        session.close().await;
        match result.ending.terminal.is_error() {
            true => Err(result.ending.why.into()),
            false => Ok(result.text),
        }
    }
}

fn deny(_question: &PermissionQuestion) -> PermissionAnswer {
    PermissionAnswer::Deny { message: "Not here.".to_owned(), interrupt: false }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::new()
        .answer(Says::text("Rope, then.").when("Rope or chain?"))
        .answer(Says::text("Four turns.").when("How many turns?"))
        .answer(Says::text("Nine metres.").when("How long must the rope be?"));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let project = folder.path().canonicalize()?;
    let sessions = SessionCatalogue::new(folder.path().join("sessions"));
    let assistant = Assistant { url: server.url(), sessions };

    assistant.ask(&project, "first", "Rope or chain?").await?;
    assistant.ask(&project, "second", "How many turns?").await?;

    let sessions = &assistant.sessions;
    for listed in sessions.list(Some(&project))? {
        println!("{}: {}", listed.summary.id, listed.summary.prompt);
    }
    // Names are for people: given at any time, and looked for like an id.
    let first = sessions.find("first", Some(&project))?;
    sessions.rename(&first.path, "Rope")?;
    let found = sessions.find("rope", Some(&project))?;
    let answer = assistant.ask(&project, &found.summary.id, "How long must the rope be?").await?;
    println!("{answer}");

    sessions.delete(&sessions.find("second", Some(&project))?.path)?;
    let left = sessions.list(Some(&project))?;
    match left.as_slice() {
        [only] if only.summary.messages == 4 => Ok(()),
        _ => Err(format!("one session of four messages was expected: {left:?}").into()),
    }
}
