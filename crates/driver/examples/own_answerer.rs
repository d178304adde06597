//! A front end of one's own that answers permission questions by a rule of its own: `touch` is
//! fine, everything else is not.

use serde_json::json;
use windlass_driver::engine_settings::Settings;
use windlass_driver::vocabulary::{
    ModelFacts, Notice, PermissionAnswer, PermissionQuestion, WireFormat,
};
use windlass_driver::{Endpoint, SessionBuilder, ToolRegistry};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};

fn judge(question: &PermissionQuestion) -> PermissionAnswer {
    if question.call.input.as_str().contains("\"touch ") {
        PermissionAnswer::Allow { updated_input: None, remember: Vec::new() }
    } else {
        PermissionAnswer::Deny {
            message: "Only `touch` may run here.".to_owned(),
            interrupt: false,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let made = place.path().join("made");
    let script = Script::new()
        .answer(Says::call("Bash", json!({ "command": format!("touch {}", made.display()) })))
        .answer(Says::call("Bash", json!({ "command": format!("rm {}", made.display()) })))
        .answer(Says::text("I made it and could not remove it.").when_result("Only `touch`"));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;

    let settings = Settings::new(ModelFacts::new("some-model"));
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, server.url());
    // Without `asks` nobody is asked, and everything that would ask is denied.
    let builder = SessionBuilder::new(settings, endpoint)
        .registry(ToolRegistry::with_builtin_tools())
        .permission_prompts(true);
    let (session, mut notices) = builder.start()?;
    session.submit("Make a file, then remove it.")?;
    while let Some(notice) = notices.next().await {
        match notice {
            Notice::PermissionAsked { ticket, question } => {
                let answer = judge(&question);
                println!("{} {} -> {answer:?}", question.call.name, question.call.input);
                session.answer(ticket, answer)?;
            }
            Notice::MessageAdded(message) => println!("{:?}: {}", message.role, message.text()),
            Notice::RunEnded(ending) if ending.terminal.is_error() => {
                return Err(ending.why.into());
            }
            Notice::RunEnded(ending) => {
                println!("{}, the file is there: {}", ending.terminal, made.exists());
                break;
            }
            _ => {}
        }
    }
    session.close().await;
    Ok(())
}
