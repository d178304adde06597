//! One question, one answer, printed as it arrives.
//!
//! Runs against a rehearsed server, so that it needs neither a key nor a network. With a real one,
//! only the endpoint and the model change.

use std::io::Write;

use windlass_driver::engine_settings::Settings;
use windlass_driver::vocabulary::{Delta, ModelFacts, Notice, WireFormat};
use windlass_driver::{Credential, Endpoint, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::new().answer(ScriptedAnswer::text("It hauls heavy loads, turn by turn."));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;

    let model = ModelFacts::new("some-model");
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, server.url())
        .credential(Credential::Key("a key".to_owned()));

    let (session, mut notices) = SessionBuilder::new(Settings::new(model), endpoint).start()?;
    session.submit("What does a windlass do?")?;
    while let Some(notice) = notices.next().await {
        match notice {
            Notice::Streamed { delta: Delta::Text(text), .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            Notice::RunEnded(ending) if ending.terminal.is_error() => {
                return Err(ending.why.into());
            }
            Notice::RunEnded(ending) => {
                println!("\n({}, {})", ending.terminal, ending.cost);
                break;
            }
            _ => {}
        }
    }
    session.close().await;
    Ok(())
}
