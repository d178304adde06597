//! A front end of one's own that answers permission questions by a rule of its own: `touch` is
//! fine, everything else is not.

use serde_json::json;
use windlass_driver::vocabulary::{Answer, ModelFacts, Notice, PermissionQuestion, Wire};
use windlass_driver::{Builder, Endpoint, Registry, Settings};
use windlass_rehearsal::{Answer as Says, Rehearsal, Script, StartOptions};

fn judge(question: &PermissionQuestion) -> Answer {
    if question.call.input.as_str().contains("\"touch ") {
        Answer::Allow { updated_input: None, remember: Vec::new() }
    } else {
        Answer::Deny { message: "Only `touch` may run here.".to_owned(), interrupt: false }
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
    let server = Rehearsal::start(script, StartOptions::default()).await?;

    let settings = Settings::new(ModelFacts::new("some-model"));
    let endpoint = Endpoint::new(Wire::AnthropicMessages, server.url());
    // Without `asks` nobody is asked, and everything that would ask is denied.
    let builder = Builder::new(settings, endpoint).registry(Registry::builtin()).asks(true);
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
