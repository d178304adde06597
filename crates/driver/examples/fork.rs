//! Two ways on from one conversation: the journal is copied up to a point, and each copy goes its
//! own way. The source is only read, so it may even be in use.

use std::path::Path;

use windlass_driver::engine_settings::Settings;
use windlass_driver::session_store::fork_journal;
use windlass_driver::vocabulary::{ModelFacts, PermissionAnswer, PermissionQuestion, WireFormat};
use windlass_driver::{Durability, Endpoint, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};

async fn ask(
    url: &str,
    journal: &Path,
    question: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, url);
    let settings = Settings::new(ModelFacts::new("some-model"));
    let (session, mut notices) =
        SessionBuilder::new(settings, endpoint).journal(journal, Durability::Synced).start()?;
    let result = session.prompt(question, &mut notices, deny).await?;
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
    let script = Script::new()
        .answer(Says::text("A tool chest.").when("What shall I build?"))
        .answer(Says::text("Oak lasts longest.").when("Which wood?"))
        .answer(Says::text("A bench, then.").when("Something else?"));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let trunk = folder.path().join("trunk.jsonl");
    let branch = folder.path().join("branch.jsonl");

    println!("{}", ask(&server.url(), &trunk, "What shall I build?").await?);
    // `None` takes every record over; a number, all up to that record.
    fork_journal(&trunk, None, &branch, &"branch".into())?;
    println!("trunk:  {}", ask(&server.url(), &trunk, "Which wood?").await?);
    println!("branch: {}", ask(&server.url(), &branch, "Something else?").await?);

    // The branch knows what was said before the fork, and nothing of what the trunk said after it.
    let requests = server.requests();
    let last = requests.last().ok_or("nothing was asked")?;
    let knows = |words: &str| last.body.contains(words);
    if !knows("A tool chest.") || knows("Which wood?") {
        return Err("the branch does not begin where it was forked".into());
    }
    Ok(())
}
