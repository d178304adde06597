//! A tool of one's own: an input type and a function. The schema is derived, and an input that does
//! not fit is refused before the function is called.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_driver::vocabulary::{ModelFacts, Notice, Wire};
use windlass_driver::{Builder, Endpoint, Registry, Settings, own};
use windlass_rehearsal::{Answer, Rehearsal, Script, StartOptions};

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// What to count.
    text: String,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.insert(own::reading(
        "CountWords",
        "Counts the words of a text.",
        |input: Text, _job| async move {
            Ok(format!("{} words", input.text.split_whitespace().count()))
        },
    ));

    let script = Script::new()
        .answer(Answer::call("CountWords", json!({ "text": "turn by turn" })))
        .answer(Answer::text("Three.").when_result("3 words"));
    let server = Rehearsal::start(script, StartOptions::default()).await?;
    let settings = Settings::new(ModelFacts::new("some-model"));
    let endpoint = Endpoint::new(Wire::AnthropicMessages, server.url());
    let (session, mut notices) = Builder::new(settings, endpoint).registry(registry).start()?;
    session.submit("How many words are in \"turn by turn\"?")?;
    while let Some(notice) = notices.next().await {
        match notice {
            Notice::ToolEnded { outcome, .. } => println!("tool: {:?}", outcome.content),
            Notice::MessageAdded(message) => println!("{:?}: {}", message.role, message.text()),
            Notice::RunEnded(ending) if ending.terminal.is_error() => {
                return Err(ending.why.into());
            }
            Notice::RunEnded(ending) => {
                println!("{} after {} turns", ending.terminal, ending.turns);
                break;
            }
            _ => {}
        }
    }
    session.close().await;
    Ok(())
}
