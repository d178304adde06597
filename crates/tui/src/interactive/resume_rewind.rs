//! `/resume` and `/rewind`: other sessions to switch to, and earlier prompts to return to.

use crate::{Picker, PickerItem, PromptAction};
use serde_json::Value;
use windlass_journal::transcript::TracedMessage;

use super::NextSession;
use super::prompt_handler::{PromptHandler, no_journal_message};
use windlass_assembly::report::rewind;
use windlass_assembly::session;
use windlass_assembly::session::{journal_error, rewind_point};
use windlass_assembly::slash_command::RewindArguments;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::text_table::format_time_ago;
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;

impl PromptHandler {
    pub(super) fn pick_session(&self) -> Result<PromptAction, CommandError> {
        let own = &self.expander.variables.session_id;
        let items = list_session_items(&self.cwd)?.into_iter().filter(|item| item.value != *own);
        let items: Vec<PickerItem> = items
            .map(|item| PickerItem { value: format!("/resume {}", item.value), ..item })
            .collect();
        match items.is_empty() {
            true => Ok(PromptAction::ShowText(
                "There is no other session of this directory.".to_owned(),
            )),
            false => Ok(PromptAction::OpenPicker(Picker::new("Go on with which session?", items))),
        }
    }

    pub(super) fn resume_session(&self, id: &str) -> Result<PromptAction, CommandError> {
        let catalogue = session::open_catalogue(&|name: &str| std::env::var_os(name))?;
        let listed = session::find_session(&catalogue, Some(id), &self.cwd)?;
        match listed.summary.id == self.expander.variables.session_id {
            true => Ok(PromptAction::ShowText("That is this session.".to_owned())),
            false => Ok(self.switch_session(NextSession::Resume(listed.summary.id))),
        }
    }

    /// Offers the prompts to return to, or returns to the one in the arguments.
    pub(super) async fn rewind_session(
        &self,
        arguments: &RewindArguments,
    ) -> Result<PromptAction, CommandError> {
        let Some(journal) = &self.journal else { return Ok(no_journal_message()) };
        let id = &self.expander.variables.session_id;
        let prompts: Vec<TracedMessage> = rewind_point::trace_messages(journal, id)?
            .into_iter()
            .filter(|traced| traced.is_prompt)
            .collect();
        if arguments.to.is_some() {
            let (words, report) =
                rewind::rewind_open_session(&self.session, journal, id, arguments).await?;
            let number = report.get("prompt").and_then(Value::as_u64);
            let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
            let is_rewound = arguments.scope.conversation && !arguments.options.dry_run;
            let prompt = prompts.into_iter().nth(at.unwrap_or(usize::MAX)).filter(|_| is_rewound);
            return Ok(match prompt {
                Some(prompt) => PromptAction::Rewound { words, prompt: prompt.text },
                None => PromptAction::ShowText(words),
            });
        }
        let mut items: Vec<PickerItem> = prompts
            .into_iter()
            .zip(1_usize..)
            .map(|(traced, number)| PickerItem {
                value: format!("/rewind {number}"),
                label: truncate_with_ellipsis(&to_single_line(&traced.text), LABEL_MAX),
                description: format!("prompt {number}"),
            })
            .collect();
        items.reverse();
        match items.is_empty() {
            true => Ok(PromptAction::ShowText("Nothing was said yet.".to_owned())),
            false => {
                Ok(PromptAction::OpenPicker(Picker::new("Go back to before which prompt?", items)))
            }
        }
    }
}

/// The sessions of a directory that have a prompt; each value is an id.
pub(super) fn list_session_items(cwd: &std::path::Path) -> Result<Vec<PickerItem>, CommandError> {
    let catalogue = session::open_catalogue(&|name: &str| std::env::var_os(name))?;
    let sessions = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
    let with_prompt = sessions.into_iter().filter(|listed| !listed.summary.prompt.is_empty());
    Ok(with_prompt
        .take(SESSIONS_MAX)
        .map(|listed| {
            let summary = listed.summary;
            let title = summary.title.as_deref().unwrap_or(&summary.prompt);
            let label = truncate_with_ellipsis(&to_single_line(title), LABEL_MAX);
            let age = format_time_ago(summary.updated);
            let description = format!("{age}, {} messages", summary.messages);
            PickerItem { value: summary.id, label, description }
        })
        .collect())
}

const LABEL_MAX: usize = 60;
const SESSIONS_MAX: usize = 500;
