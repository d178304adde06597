//! Prompts that only look at a session: nothing is asked of a model and nothing is said.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_driver::Session;

use super::output::{Output, Target};
use super::{unless_signalled, window};
use crate::args::{Division, OutputFormat};
use crate::command::Order;
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::signals::Signals;
use crate::subcommand::cost;

/// What is looked at.
pub(crate) struct View<'a> {
    /// What was asked for.
    pub(crate) order: Order,
    /// What to print.
    pub(crate) format: OutputFormat,
    /// The session's name.
    pub(crate) session_id: &'a str,
    /// Where it is written down.
    pub(crate) journal: Option<PathBuf>,
}

impl View<'_> {
    /// Prints it.
    pub(crate) async fn show(
        &self,
        session: &Session,
        signals: &mut Signals,
    ) -> Result<Exit, Refusal> {
        let (name, text, object) = match (&self.order, &self.journal) {
            (Order::Cost, Some(journal)) => {
                let account = cost::of_one(journal, None)?;
                ("cost", cost::drawn(&account, Division::Model), cost::object(&account))
            }
            (Order::Show { topic, text }, _) => (topic.name(), text.clone(), json!(text)),
            _ => match unless_signalled(signals, session.inventory()).await {
                Err(signal) => return Ok(signal.exit()),
                Ok(None) => return Err(Refusal::failed("the session ended; try again")),
                Ok(Some(found)) => {
                    let object = window::object(self.session_id, &found);
                    ("context", window::drawn(&found), object)
                }
            },
        };
        self.say(name, text, &object, signals).await
    }

    /// Prints words, or an object for a program.
    pub(crate) async fn say(
        &self,
        name: &str,
        text: String,
        object: &Value,
        signals: &mut Signals,
    ) -> Result<Exit, Refusal> {
        let mut output = Output::new(Target::Stdout);
        // If nobody reads it, it need not be written.
        let _ = output.write(self.rendered(name, text, object));
        Ok(match unless_signalled(signals, output.finish()).await {
            Err(signal) => signal.exit(),
            Ok(Some(_)) => Exit::FAILED,
            Ok(None) => Exit::DONE,
        })
    }

    fn rendered(&self, name: &str, text: String, object: &Value) -> String {
        match self.format {
            OutputFormat::Text => text,
            OutputFormat::Json | OutputFormat::StreamJson => {
                let result = json!({
                    "type": "result",
                    "subtype": "success",
                    "is_error": false,
                    "result": text,
                    "session_id": self.session_id,
                    name: object,
                });
                format!("{result}\n")
            }
        }
    }
}
