//! A fallback at another provider: the conversation changes its wire in the middle, and back.
//!
//! Two rehearsed servers stand for the providers, so that it needs neither keys nor a network.

use windlass_driver::engine_settings::Settings;
use windlass_driver::{Credential, Endpoint, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer, ScriptedFault};
use windlass_vocabulary::{Delta, ModelFacts, Notice, Prices, Tokens, WireFormat};

fn facts(name: &str) -> ModelFacts {
    ModelFacts {
        name: name.into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let overloaded = ScriptedFault::Refuse {
        status: 529,
        headers: vec![("retry-after-ms".to_owned(), "1".to_owned())],
        body: None,
    };
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(overloaded).repeat(3))
        .answer(ScriptedAnswer::text("I am back."));
    let first = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let script = Script::new().answer(ScriptedAnswer::text("I stand in."));
    let second = Rehearsal::start(script, RehearsalOptions::default()).await?;

    let mut settings = Settings::new(facts("first-choice"));
    settings.fallbacks = vec![facts("second-choice")];
    let here = Endpoint::new(WireFormat::AnthropicMessages, first.url())
        .credential(Credential::Key("a key".to_owned()));
    // Another provider: another wire, another key, which never meets the first.
    let there = Endpoint::new(WireFormat::Gemini, second.url())
        .credential(Credential::Key("another key".to_owned()));

    let (session, mut notices) =
        SessionBuilder::new(settings, here).endpoint_for("second-choice".into(), there).start()?;
    for question in ["Who is there?", "And now?"] {
        session.submit(question)?;
        while let Some(notice) = notices.next().await {
            match notice {
                Notice::ModelSwitched { from, to, why } => println!("{from} -> {to}: {why}"),
                Notice::Streamed { delta: Delta::Text(text), .. } => println!("{text}"),
                Notice::RunEnded(ending) if ending.terminal.is_error() => {
                    return Err(ending.why.into());
                }
                Notice::RunEnded(_) => break,
                _ => {}
            }
        }
    }
    session.close().await;
    Ok(())
}
