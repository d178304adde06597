//! A conversation that outlives its process: the journal is continued by a second session.
//!
//! The file is the whole memory. Whoever has it goes on where the last message was written, in the
//! same process, after a crash, or on another machine.

use std::path::Path;

use windlass_driver::engine_settings::Settings;
use windlass_driver::vocabulary::{ModelFacts, PermissionAnswer, PermissionQuestion, WireFormat};
use windlass_driver::{Durability, Endpoint, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};

/// Opens the journal, asks one thing, and closes it again.
async fn ask(
    url: &str,
    journal: &Path,
    question: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, url);
    let (session, mut notices) =
        SessionBuilder::new(Settings::new(ModelFacts::new("some-model")), endpoint)
            // A journal that is not there is begun; one that is there is replayed first.
            .journal(journal, Durability::Synced)
            .start()?;
    let result = session.prompt(question, &mut notices, deny).await?;
    // Closing waits until everything is on disk, and gives the file free for the next one.
    session.close().await;
    match result.ending.terminal.is_error() {
        true => Err(result.ending.why.into()),
        false => Ok(result.text),
    }
}

fn deny(_question: &PermissionQuestion) -> PermissionAnswer {
    PermissionAnswer::Deny { message: "Not here.".to_owned(), interrupt: false }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script =
        Script::new().answer(Says::text("I will remember it.")).answer(Says::text("It was 42."));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let journal = folder.path().join("conversation.jsonl");

    println!("{}", ask(&server.url(), &journal, "Remember the number 42.").await?);
    println!("{}", ask(&server.url(), &journal, "Which number was it?").await?);

    // The second request carried the first exchange.
    let requests = server.requests();
    let last = requests.last().ok_or("nothing was asked")?;
    if !last.body.contains("Remember the number 42.") {
        return Err("the conversation was not continued".into());
    }
    Ok(())
}
