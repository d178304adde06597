//! Other sessions to go on with, and earlier prompts to go back to.

use crate::{Picker, PickerItem, PromptAction as Meant};
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
    pub(super) fn pick_session(&self) -> Result<Meant, CommandError> {
        let own = &self.expander.variables.session_id;
        let items = list_session_items(&self.cwd)?.into_iter().filter(|item| item.value != *own);
        let items: Vec<PickerItem> = items
            .map(|item| PickerItem { value: format!("/resume {}", item.value), ..item })
            .collect();
        match items.is_empty() {
            true => Ok(Meant::ShowText("There is no other session of this directory.".to_owned())),
            false => Ok(Meant::OpenPicker(Picker::new("Go on with which session?", items))),
        }
    }

    pub(super) fn resume_session(&self, wanted: &str) -> Result<Meant, CommandError> {
        let catalogue = session::open_catalogue(&|name: &str| std::env::var_os(name))?;
        let found = session::find_session(&catalogue, Some(wanted), &self.cwd)?;
        match found.summary.id == self.expander.variables.session_id {
            true => Ok(Meant::ShowText("That is this session.".to_owned())),
            false => Ok(self.switch_session(NextSession::Resume(found.summary.id))),
        }
    }

    /// Prompts to go back to, or back to one of them.
    pub(super) async fn rewind_session(
        &self,
        wanted: &RewindArguments,
    ) -> Result<Meant, CommandError> {
        let Some(journal) = &self.journal else { return Ok(no_journal_message()) };
        let id = &self.expander.variables.session_id;
        let prompts: Vec<TracedMessage> = rewind_point::trace_messages(journal, id)?
            .into_iter()
            .filter(|traced| traced.is_prompt)
            .collect();
        if wanted.to.is_some() {
            let (words, found) =
                rewind::rewind_open_session(&self.session, journal, id, wanted).await?;
            let number = found.get("prompt").and_then(Value::as_u64);
            let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
            let is_back = wanted.scope.conversation && !wanted.options.dry_run;
            let prompt = prompts.into_iter().nth(at.unwrap_or(usize::MAX)).filter(|_| is_back);
            return Ok(match prompt {
                Some(prompt) => Meant::Rewound { words, prompt: prompt.text },
                None => Meant::ShowText(words),
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
            true => Ok(Meant::ShowText("Nothing was said yet.".to_owned())),
            false => Ok(Meant::OpenPicker(Picker::new("Go back to before which prompt?", items))),
        }
    }
}

/// The sessions of a folder, each by its id.
pub(super) fn list_session_items(cwd: &std::path::Path) -> Result<Vec<PickerItem>, CommandError> {
    let catalogue = session::open_catalogue(&|name: &str| std::env::var_os(name))?;
    let found = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
    let begun = found.into_iter().filter(|listed| !listed.summary.prompt.is_empty());
    Ok(begun
        .take(SESSIONS_MAX)
        .map(|listed| {
            let card = listed.summary;
            let title = card.title.as_deref().unwrap_or(&card.prompt);
            let label = truncate_with_ellipsis(&to_single_line(title), LABEL_MAX);
            let about = format!("{}, {} messages", format_time_ago(card.updated), card.messages);
            PickerItem { value: card.id, label, description: about }
        })
        .collect())
}

const LABEL_MAX: usize = 60;
const SESSIONS_MAX: usize = 500;
