//! A tool of one's own: a spec, a look at the input, and what it does.

use std::sync::Arc;

use serde_json::json;
use windlass_driver::{Builder, Endpoint, Job, Registry, Running, Settings, Tool};
use windlass_permission::Granted;
use windlass_rehearsal::{Answer, Rehearsal, Script, StartOptions};
use windlass_vocabulary::{
    Inspection, Json, ModelFacts, Notice, Prices, Tokens, ToolCall, ToolOutcome, ToolSpec, Wire,
};

/// Counts the words of a text.
struct CountWords {
    spec: ToolSpec,
}

impl CountWords {
    fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        });
        Self {
            spec: ToolSpec {
                name: "CountWords".into(),
                description: "Counts the words of a text.".into(),
                input_schema: Json::from_checked(&schema.to_string()),
                result_bytes_max: 1_000,
            },
        }
    }
}

fn text(input: &Json) -> Option<String> {
    let input: serde_json::Value = serde_json::from_str(input.as_str()).ok()?;
    Some(input.get("text")?.as_str()?.to_owned())
}

impl Tool for CountWords {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    // It only reads, so it needs no permission and may run beside others.
    fn inspect(&self, input: &Json) -> Inspection {
        match text(input) {
            Some(_) => Inspection::SHARED_READ,
            None => Inspection::refused("The input needs a field `text`."),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, _job: Job) -> Running<'a> {
        Box::pin(async move {
            let text = text(&call.get().input).unwrap_or_default();
            ToolOutcome::text(format!("{} words", text.split_whitespace().count()))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::new()
        .answer(Answer::call("CountWords", json!({ "text": "turn by turn" })))
        .answer(Answer::text("Three.").when_result("3 words"));
    let server = Rehearsal::start(script, StartOptions::default()).await?;

    let mut registry = Registry::builtin();
    registry.insert(Arc::new(CountWords::new()));
    let settings = Settings::new(ModelFacts {
        name: "some-model".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    });
    let endpoint = Endpoint::new(Wire::AnthropicMessages, server.url());
    let (session, mut notices) = Builder::new(settings, endpoint).registry(registry).start()?;
    session.submit("How many words are in \"turn by turn\"?")?;
    while let Some(notice) = notices.next().await {
        match notice {
            Notice::ToolEnded { outcome, .. } => println!("tool: {:?}", outcome.content),
            Notice::MessageAdded(message) => println!("{:?}: {}", message.role, message.text()),
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
