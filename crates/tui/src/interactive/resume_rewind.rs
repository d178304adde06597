//! `/resume` and `/rewind`: other sessions to switch to, and earlier prompts to return to.

use crate::file_changes::FileChangeView;
use crate::tool_call_view;
use crate::{Picker, PickerItem, PromptAction};
use serde_json::Value;
use std::path::{Path, PathBuf};
use windlass_driver::rewind::{OverwriteChoice, RewindOptions, RewindScope};
use windlass_host::environment::process_environment;
use windlass_journal::transcript::TracedMessage;
use windlass_vocabulary::{Notice, ToolCall};

use super::prompt_handler::{PromptHandler, no_journal_message};
use super::prompt_history;
use super::{NextSession, words};
use windlass_assembly::report::rewind;
use windlass_assembly::session;
use windlass_assembly::session::journal_replay::explain_journal;
use windlass_assembly::session::snapshots::open_change_log;
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
            let calls = list_calls(journal)?.into_iter();
            let mut calls = calls.filter(|call| Some(call.id.as_str()) == arguments.to.as_deref());
            let call = calls.next_back().map(|call| self.format_call_title(&call));
            return Ok(preview_rewind(&text, &report, call.as_deref()));
        }
        self.carry_out_rewind(journal, arguments, prompts).await
    }

    async fn carry_out_rewind(
        &self,
        journal: &Path,
        arguments: &RewindArguments,
        prompts: Vec<TracedMessage>,
    ) -> Result<PromptAction, CommandError> {
        let id = &self.expander.variables.session_id;
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

/// What only lists of the terminal say of a rewind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RewindChoice {
    /// Which call of this prompt to go back to.
    Calls { prompt: usize },
    /// Whether each file that others changed goes back; those that are answered so far.
    EachFile { to: String, answers: Vec<bool> },
}

impl RewindChoice {
    pub(super) fn parse(prompt: &str) -> Option<Self> {
        let mut words = prompt.strip_prefix("/rewind ")?.split_whitespace();
        let to = words.next()?;
        match words.next()? {
            "calls" => Some(Self::Calls { prompt: to.parse().ok()? }),
            "each-file" => {
                let answers = words.map(|answer| answer == "yes").collect();
                Some(Self::EachFile { to: to.to_owned(), answers })
            }
            _ => None,
        }
    }
}

impl PromptHandler {
    pub(super) async fn refine_rewind(
        &self,
        choice: RewindChoice,
    ) -> Result<PromptAction, CommandError> {
        let Some(journal) = &self.journal else { return Ok(no_journal_message()) };
        let id = &self.expander.variables.session_id;
        let messages = rewind_point::trace_messages(journal, id)?;
        let (to, answers) = match choice {
            RewindChoice::Calls { prompt } => return self.pick_call(journal, &messages, prompt),
            RewindChoice::EachFile { to, answers } => (to, answers),
        };
        let mut arguments = RewindArguments {
            to: Some(to.clone()),
            scope: RewindScope { conversation: true, files: true },
            options: RewindOptions { dry_run: true, ..RewindOptions::default() },
        };
        let (_, report) =
            rewind::rewind_open_session(&self.session, journal, id, &arguments).await?;
        let foreign = list_files(&report).iter().filter(|file| is_foreign(file));
        let foreign: Vec<&str> =
            foreign.filter_map(|file| file.get("path").and_then(Value::as_str)).collect();
        if let Some(file) = foreign.get(answers.len()) {
            return Ok(PromptAction::OpenPicker(self.ask_file(&to, &answers, file)));
        }
        let wanted = foreign.iter().zip(&answers).filter(|(_, is_wanted)| **is_wanted);
        let wanted = wanted.map(|(path, _)| PathBuf::from(path)).collect();
        arguments.options =
            RewindOptions { dry_run: false, overwrite: OverwriteChoice::Files(wanted) };
        let prompts = messages.into_iter().filter(|traced| traced.is_prompt).collect();
        self.carry_out_rewind(journal, &arguments, prompts).await
    }

    fn format_call_title(&self, call: &ToolCall) -> String {
        tool_call_view::format_title(call, &self.cwd.to_string_lossy())
    }

    fn ask_file(&self, to: &str, answers: &[bool], file: &str) -> Picker {
        let given: String =
            answers.iter().map(|is_yes| if *is_yes { " yes" } else { " no" }).collect();
        let item = |answer: &str, label: &str| PickerItem {
            value: format!("/rewind {to} each-file{given} {answer}"),
            label: label.to_owned(),
            description: String::new(),
        };
        let items = vec![item("no", words::FILE_KEEP), item("yes", words::FILE_OVERWRITE)];
        Picker::new(words::title_overwrite(&self.shorten_path(file)), items)
    }

    /// The calls of a prompt whose changes can be taken back, the newest first.
    fn pick_call(
        &self,
        journal: &Path,
        messages: &[TracedMessage],
        prompt: usize,
    ) -> Result<PromptAction, CommandError> {
        let mut prompts = messages.iter().filter(|traced| traced.is_prompt).map(|it| it.record);
        let begin = prompt.checked_sub(1).and_then(|at| prompts.nth(at)).unwrap_or(u64::MAX);
        let end = prompts.next().unwrap_or(u64::MAX);
        let spans = open_change_log(journal)?.find_live_spans().into_iter();
        let spans = spans.filter(|span| (begin..end).contains(&span.record));
        let changing: Vec<String> = spans.flat_map(|span| span.calls).collect();
        let calls = list_calls(journal)?.into_iter().rev();
        let calls = calls.filter(|call| changing.iter().any(|id| id == call.id.as_str()));
        let items: Vec<PickerItem> = calls
            .map(|call| PickerItem {
                value: format!("/rewind {}", call.id),
                label: self.format_call_title(&call),
                description: String::new(),
            })
            .collect();
        Ok(match items.is_empty() {
            true => PromptAction::ShowText(words::NO_CALL_TO_REWIND.to_owned()),
            false => PromptAction::OpenPicker(Picker::new(words::TITLE_REWIND_CALL, items)),
        })
    }
}

/// The calls of a session that started, the oldest first.
fn list_calls(journal: &Path) -> Result<Vec<ToolCall>, CommandError> {
    let mut calls = Vec::new();
    explain_journal(journal, |step| {
        for notice in step.notices {
            if let Notice::ToolStarted(call) = notice {
                calls.push(call);
            }
        }
    })
    .map_err(|error| journal_error(&error))?;
    Ok(calls)
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

/// What would change, and the question below it.
fn preview_rewind(text: &str, report: &Value, call: Option<&str>) -> PromptAction {
    let files = list_files(report);
    let lead = match call {
        Some(call) => words::describe_rewind_to_call(call),
        None => text.lines().next().unwrap_or_default().to_owned(),
    };
    let changes = report.get("changes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let lines = changes.iter().map(|change| read_diff(change).lines().count());
    // Of large changes only the counts are shown.
    let has_diffs = lines.sum::<usize>() <= PREVIEW_LINES_MAX;
    let to_change = |file: &Value| {
        let is_removed = file.get("removed").and_then(Value::as_bool).unwrap_or(false);
        let note = match file.get("standing").and_then(Value::as_str) {
            Some("changed_by_others") => words::CHANGED_BY_OTHERS,
            Some("not_kept") => words::NOT_STORED,
            Some(_) | None if is_removed => words::REMOVED,
            Some(_) | None => "",
        };
        let view = FileChangeView::from_report(file, note);
        let change = changes.iter().find(|change| {
            let path = change.get("path").and_then(Value::as_str);
            path.is_some_and(|path| Path::new(&view.path).ends_with(path))
        });
        let diff = change.filter(|_| has_diffs).map(read_diff).unwrap_or_default().to_owned();
        FileChangeView { diff, ..view }
    };
    PromptAction::ShowChanges {
        lead,
        files: files.iter().map(to_change).collect(),
        rest: rewind::describe_preview(report).trim_end().to_owned(),
        picker: Some(pick_rewind_scope(report)),
    }
}

fn read_diff(change: &Value) -> &str {
    change.get("diff").and_then(Value::as_str).unwrap_or_default()
}

fn list_files(report: &Value) -> &[Value] {
    report.get("files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_foreign(file: &Value) -> bool {
    file.get("standing").and_then(Value::as_str) == Some("changed_by_others")
}

/// What to take back. The first answer changes nothing.
fn pick_rewind_scope(report: &Value) -> Picker {
    let number = report.get("prompt").and_then(Value::as_u64);
    // A call has no number.
    let name = report.get("uuid").and_then(Value::as_str).unwrap_or_default();
    let to = number.map_or_else(|| name.to_owned(), |number| number.to_string());
    let files = list_files(report);
    let item = |arguments: &str, label: &str, description: &str| PickerItem {
        value: format!("/rewind{arguments}"),
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let mut items = vec![item("", words::REWIND_NO, "")];
    if !files.is_empty() {
        // Files changed by other programs are only overwritten by an explicit choice.
        let foreign = files.iter().filter(|file| is_foreign(file)).count();
        if foreign > 0 {
            let skip = format!(" {to} both skip-changed");
            items.push(item(&skip, words::REWIND_SKIP, words::REWIND_SKIP_NOTE));
            let scope = format!(" {to} both overwrite");
            items.push(item(&scope, words::REWIND_OVERWRITE, words::REWIND_OVERWRITE_NOTE));
        } else {
            items.push(item(&format!(" {to} both"), words::REWIND_BOTH, ""));
            items.push(item(&format!(" {to} files"), words::REWIND_FILES, ""));
        }
        if foreign > 1 {
            items.push(item(&format!(" {to} each-file"), words::REWIND_EACH_FILE, ""));
        }
    }
    items.push(item(&format!(" {to} conversation"), words::REWIND_CONVERSATION, ""));
    if let Some(number) = number.filter(|_| !files.is_empty()) {
        let calls = format!(" {number} calls");
        items.push(item(&calls, words::REWIND_CALLS, words::REWIND_CALLS_NOTE));
    }
    Picker::new(words::TITLE_REWIND_SCOPE, items)
}

/// The sessions of a directory that have a prompt; each value is an id.
pub(super) fn list_session_items(cwd: &Path) -> Result<Vec<PickerItem>, CommandError> {
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

/// A list cuts it to the width of the screen.
const LABEL_MAX: usize = 200;
const SESSIONS_MAX: usize = 500;
/// Lines of all diffs of a preview.
const PREVIEW_LINES_MAX: usize = 200;
