//! Slash commands that report on a session or rewind it, without asking a model.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::Session;
use windlass_host::environment::process_environment;

use super::context_usage;
use crate::report::diff::diff_blocking;
use crate::report::session_list::render_resume_help;
use crate::report::{cost, rewind, why};
use crate::slash_command::SlashCommand;

#[derive(Debug)]
pub struct SessionReport {
    /// Its key in the result frame.
    pub name: &'static str,
    pub text: String,
    pub json: Value,
}

impl SessionReport {
    pub async fn build(
        command: &SlashCommand,
        session: &Session,
        id: &str,
        journal: Option<&Path>,
    ) -> Result<Self, String> {
        let journal = || journal.ok_or_else(|| "this session is not saved".to_owned());
        match command {
            SlashCommand::Context => {
                let inventory = session.inventory().await.ok_or("the session is over")?;
                let text = context_usage::render_context_usage(&inventory);
                let json = context_usage::context_usage_to_json(id, &inventory);
                Ok(Self { name: "context", text, json })
            }
            SlashCommand::Cost => {
                let (text, json) =
                    cost::render_session_cost(journal()?).map_err(|error| error.to_string())?;
                Ok(Self { name: "cost", text, json })
            }
            SlashCommand::Diff(wanted) => {
                let (text, json) = diff_blocking(journal()?, id, wanted)
                    .await
                    .map_err(|error| error.to_string())?;
                Ok(Self { name: "diff", text, json })
            }
            SlashCommand::Why => {
                let text =
                    why::render_recent_reasons(journal()?).map_err(|error| error.to_string())?;
                Ok(Self::from_text("why", text))
            }
            SlashCommand::Show { section, text } => {
                Ok(Self::from_text(section.command_name(), text.clone()))
            }
            SlashCommand::Resume(wanted) => {
                let lookup = process_environment;
                let text = render_resume_help(wanted.as_deref(), &lookup)
                    .map_err(|error| error.to_string())?;
                Ok(Self::from_text("resume", text))
            }
            SlashCommand::Rewind(wanted) => {
                let rewound = rewind::rewind_open_session(session, journal()?, id, wanted).await;
                let (text, json) = rewound.map_err(|error| error.to_string())?;
                Ok(Self { name: "rewind", text, json })
            }
            // `slash_command::parse_prompt` refuses it for a front end without a terminal.
            SlashCommand::TerminalAction(_) => Err("this works only in the terminal".to_owned()),
            SlashCommand::SubmitPrompt(_)
            | SlashCommand::Compact(_)
            | SlashCommand::ContinueRun
            | SlashCommand::ResumeDeferredCall
            | SlashCommand::Clear
            | SlashCommand::SideQuestion(_) => Err("that is not a report".to_owned()),
        }
    }

    fn from_text(name: &'static str, text: String) -> Self {
        Self { name, json: json!(text), text }
    }
}
