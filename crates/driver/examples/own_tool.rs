//! A tool of one's own: an input type and a function. The schema is derived, and an input that does
//! not fit is refused before the function is called.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_driver::engine_settings::Settings;
use windlass_driver::vocabulary::{ModelFacts, Notice, WireFormat};
use windlass_driver::{Endpoint, SessionBuilder, ToolRegistry, custom_tool};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// What to count.
    text: String,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = ToolRegistry::with_builtin_tools();
    registry.insert(custom_tool::build_read_only_tool(
        "CountWords",
        "Counts the words of a text.",
        |input: Text, _job| async move {
            Ok(format!("{} words", input.text.split_whitespace().count()))
        },
    ));

    let script = Script::new()
        .answer(ScriptedAnswer::call("CountWords", json!({ "text": "turn by turn" })))
        .answer(ScriptedAnswer::text("Three.").when_result("3 words"));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let settings = Settings::new(ModelFacts::new("some-model"));
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, server.url());
    let (session, mut notices) =
        SessionBuilder::new(settings, endpoint).registry(registry).start()?;
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
