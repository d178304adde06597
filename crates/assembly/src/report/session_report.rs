//! Prompts that look at a session or take it back: nothing is asked of a model and nothing is said.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::Session;

use super::context_usage;
use crate::report::session_list::render_resume_help;
use crate::report::why;
use crate::report::{cost, rewind};
use crate::slash_command::SlashCommand;
use windlass_host::command_error::CommandError;

/// What was seen.
#[derive(Debug)]
pub struct SessionReport {
    /// What it is called in a result.
    pub name: &'static str,
    /// For people.
    pub text: String,
    /// For programs.
    pub json: Value,
}

impl SessionReport {
    /// Looks.
    pub async fn build(
        order: &SlashCommand,
        session: &Session,
        (id, journal): (&str, Option<&Path>),
    ) -> Result<Self, String> {
        let view = |name, text, object| Ok(Self { name, text, json: object });
        match (order, journal) {
            (SlashCommand::Cost, Some(journal)) => {
                let (text, object) = cost::render_session_cost(journal)
                    .map_err(|refusal| error_to_string(&refusal))?;
                view("cost", text, object)
            }
            (SlashCommand::Why, Some(journal)) => {
                let text = why::render_recent_reasons(journal)
                    .map_err(|refusal| error_to_string(&refusal))?;
                view("why", text.clone(), json!(text))
            }
            (SlashCommand::Cost | SlashCommand::Why, None) => {
                Err("this session is not written down".to_owned())
            }
            // Nobody gets here with it: it is refused where prompts are read.
            (SlashCommand::TerminalAction(_), _) => {
                Err("that is for a person at a terminal".to_owned())
            }
            (SlashCommand::Show { section: topic, text }, _) => {
                view(topic.command_name(), text.clone(), json!(text))
            }
            (SlashCommand::Resume(wanted), _) => {
                let lookup = |name: &str| std::env::var_os(name);
                let text = render_resume_help(wanted.as_deref(), &lookup);
                let text = text.map_err(|refusal| error_to_string(&refusal))?;
                view("resume", text.clone(), json!(text))
            }
            (SlashCommand::Rewind(wanted), Some(journal)) => {
                let gone = rewind::rewind_open_session(session, journal, id, wanted).await;
                let (text, object) = gone.map_err(|refusal| error_to_string(&refusal))?;
                view("rewind", text, object)
            }
            _ => {
                let found = session.inventory().await.ok_or("the session is over")?;
                view(
                    "context",
                    context_usage::render_context_usage(&found),
                    context_usage::context_usage_to_json(id, &found),
                )
            }
        }
    }
}

fn error_to_string(refusal: &CommandError) -> String {
    refusal.to_string()
}
