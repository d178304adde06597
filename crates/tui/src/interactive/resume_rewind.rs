//! `/resume` and `/rewind`: other sessions to switch to, and earlier prompts to return to.

use crate::{Picker, PickerItem, PromptAction};
use serde_json::Value;
use windlass_host::environment::process_environment;
use windlass_journal::transcript::TracedMessage;

use super::prompt_handler::{PromptHandler, no_journal_message};
use super::prompt_history;
use super::{NextSession, words};
use windlass_assembly::report::rewind;
use windlass_assembly::session;
use windlass_assembly::session::{journal_error, rewind_point};
use windlass_assembly::slash_command::RewindArguments;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_counted;
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
            true => Ok(PromptAction::ShowText(words::NO_OTHER_SESSION.to_owned())),
            false => Ok(PromptAction::OpenPicker(Picker::new(words::TITLE_RESUME, items))),
        }
    }

    pub(super) fn resume_session(&self, id: &str) -> Result<PromptAction, CommandError> {
        let catalogue = session::open_catalogue(&process_environment)?;
        let listed = session::find_session(&catalogue, Some(id), &self.cwd)?;
        match listed.summary.id == self.expander.variables.session_id {
            true => Ok(PromptAction::ShowText(words::SAME_SESSION.to_owned())),
            false => Ok(self.switch_session(NextSession::Resume(listed.summary.id))),
        }
    }

    /// Offers the prompts to return to, shows what returning would change, or returns: nothing is done
    /// before the user has said whether conversation, files or both go back.
    pub(super) async fn rewind_session(
        &self,
        arguments: &RewindArguments,
        is_scope_named: bool,
    ) -> Result<PromptAction, CommandError> {
        let Some(journal) = &self.journal else { return Ok(no_journal_message()) };
        let id = &self.expander.variables.session_id;
        let prompts: Vec<TracedMessage> = rewind_point::trace_messages(journal, id)?
            .into_iter()
            .filter(|traced| traced.is_prompt)
            .collect();
        if arguments.to.is_none() {
            return Ok(pick_prompt(prompts));
        }
        if !is_scope_named && !arguments.options.dry_run {
            let mut preview = arguments.clone();
            preview.options.dry_run = true;
            let (text, report) =
                rewind::rewind_open_session(&self.session, journal, id, &preview).await?;
            return Ok(PromptAction::ShowThenPick(text, pick_rewind_scope(&report)));
        }
        let (text, report) =
            rewind::rewind_open_session(&self.session, journal, id, arguments).await?;
        let number = report.get("prompt").and_then(Value::as_u64);
        let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let is_rewound = arguments.scope.conversation && !arguments.options.dry_run;
        let prompt = prompts.into_iter().nth(at.unwrap_or(usize::MAX)).filter(|_| is_rewound);
        Ok(match prompt {
            Some(prompt) => PromptAction::Rewound {
                words: text,
                prompt: prompt.text,
                tasks: prompt_history::load_task_list(journal),
            },
            None => PromptAction::ShowText(text),
        })
    }
}

/// The newest prompt first.
fn pick_prompt(prompts: Vec<TracedMessage>) -> PromptAction {
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
        true => PromptAction::ShowText(words::NOTHING_TO_REWIND.to_owned()),
        false => PromptAction::OpenPicker(Picker::new(words::TITLE_REWIND, items)),
    }
}

/// What to take back. The first answer changes nothing.
fn pick_rewind_scope(report: &Value) -> Picker {
    let number = report.get("prompt").and_then(Value::as_u64).unwrap_or(0);
    let files = report.get("files").and_then(Value::as_array).map(Vec::as_slice);
    let files = files.unwrap_or_default();
    let is_foreign =
        |file: &Value| file.get("standing").and_then(Value::as_str) == Some("changed_by_others");
    let item = |arguments: &str, label: &str, description: &str| PickerItem {
        value: format!("/rewind{arguments}"),
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let mut items = vec![item("", words::REWIND_NO, "")];
    if !files.is_empty() {
        // Files changed by other programs are only overwritten by an explicit choice.
        if files.iter().any(is_foreign) {
            let skip = format!(" {number} both skip-changed");
            items.push(item(&skip, words::REWIND_SKIP, words::REWIND_SKIP_NOTE));
            let scope = format!(" {number} both overwrite");
            items.push(item(&scope, words::REWIND_OVERWRITE, words::REWIND_OVERWRITE_NOTE));
        } else {
            items.push(item(&format!(" {number} both"), words::REWIND_BOTH, ""));
            items.push(item(&format!(" {number} files"), words::REWIND_FILES, ""));
        }
    }
    items.push(item(&format!(" {number} conversation"), words::REWIND_CONVERSATION, ""));
    Picker::new(words::TITLE_REWIND_SCOPE, items)
}

/// The sessions of a directory that have a prompt; each value is an id.
pub(super) fn list_session_items(cwd: &std::path::Path) -> Result<Vec<PickerItem>, CommandError> {
    let catalogue = session::open_catalogue(&process_environment)?;
    let sessions = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
    let with_prompt = sessions.into_iter().filter(|listed| !listed.summary.prompt.is_empty());
    Ok(with_prompt
        .take(SESSIONS_MAX)
        .map(|listed| {
            let summary = listed.summary;
            let title = summary.title.as_deref().unwrap_or(&summary.prompt);
            let label = truncate_with_ellipsis(&to_single_line(title), LABEL_MAX);
            let age = format_time_ago(summary.updated);
            let messages = format_counted(summary.messages, "message");
            let description = format!("{age}, {messages}");
            PickerItem { value: summary.id, label, description }
        })
        .collect())
}

const LABEL_MAX: usize = 60;
const SESSIONS_MAX: usize = 500;
