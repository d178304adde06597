//! Every text of the conversation that people read, in one place, so that it can be read top to bottom.
//! Slash commands have theirs in `assembly`, their screens in `interactive/words.rs`.

use std::path::Path;
use std::time::Duration;

use windlass_host::display::human_format::{format_count, format_counted};
use windlass_vocabulary::notice::{ChangeKind, ChangedFile};
use windlass_vocabulary::{PermissionMode, Transition};

// The composer.

pub(crate) const COMPOSER_EMPTY: &str = "Ask for something · / for commands";
pub(crate) const COMPOSER_BUSY: &str = "Type to steer · Esc to interrupt";
pub(crate) const COMPOSER_BUSY_MOVABLE: &str =
    "Type to steer · Esc to interrupt · Ctrl-B to run in the background";
/// Where it fits whole.
pub(crate) const MOVABLE_WIDTH_MIN: usize = 70;

pub(crate) fn label_paste(lines: usize) -> String {
    format!("Pasted {}", format_counted(lines, "line"))
}

pub(crate) fn label_image(number: usize) -> String {
    format!("Image #{number}")
}

pub(crate) fn describe_queued(prompt: &str) -> String {
    format!("Queued: {prompt}")
}

pub(crate) const QUEUED_HINT: &str = "↑ to edit the last one";

pub(crate) const MODE_KEY: &str = " · Shift-Tab";

pub(crate) fn label_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "default mode",
        PermissionMode::AcceptEdits => "accept edits",
        PermissionMode::Plan => "plan mode",
        PermissionMode::DontAsk => "don't ask",
        PermissionMode::BypassPermissions => "bypass permissions",
    }
}

// The start.

pub(crate) fn banner_title() -> String {
    format!("Windlass {}", env!("CARGO_PKG_VERSION"))
}

pub(crate) const TIPS: &[&str] = &[
    "@ attaches a file, ! runs a shell command, / lists all commands",
    "Shift-Tab switches between default, accept edits and plan mode",
    "Esc interrupts, Esc Esc rewinds, ? shows all keys",
];

// Hints in the status line.

pub(crate) const HINT_INTERRUPTING: &str = "Interrupting…";
pub(crate) const HINT_ESCAPE_AGAIN: &str = "Esc again to rewind";
pub(crate) const HINT_CANCEL_AGAIN: &str = "Ctrl-C again to exit";
pub(crate) const HINT_NO_HISTORY: &str = "No earlier prompts in this folder";

pub(crate) const TITLE_HISTORY: &str = "Earlier prompts";

// A run.

pub(crate) const BUSY_THINKING: &str = "Thinking";
pub(crate) const BUSY_ASKING: &str = "Waiting for the model";
pub(crate) const BUSY_WRITING: &str = "Writing";
pub(crate) const INTERRUPTED: &str = "Interrupted";
pub(crate) const INTERRUPTED_RUN: &str = "■ Interrupted. What would you like to do instead?";
pub(crate) const ANSWER_SEALED: &str =
    "The connection was cut; the finished part of the answer is kept";

pub(crate) fn describe_done(time: Duration) -> String {
    format!("Done in {}", format_elapsed(time))
}

pub(crate) fn describe_retraction(why: &str) -> String {
    format!("Partial answer discarded: {why}")
}

pub(crate) fn describe_retry(failure: &str, seconds: u64, attempt: u8, attempts_max: u8) -> String {
    format!("{failure} · retrying in {seconds} s (attempt {attempt} of {attempts_max})")
}

pub(crate) fn describe_retries(retries: u32, failure: &str) -> String {
    let times = if retries == 1 { "once".to_owned() } else { format!("{retries} times") };
    format!("Retried {times}: {failure}")
}

pub(crate) fn describe_model_switch(from: &str, to: &str, why: &str) -> String {
    format!("Switched from {from} to {to}: {why}")
}

pub(crate) fn describe_repair(why: &str) -> String {
    format!("Request repaired: {why}")
}

pub(crate) fn describe_compaction(level: u8, tokens: &str) -> String {
    let what = if level == 5 { "Conversation summarised" } else { "Conversation shortened" };
    format!("{what}: about {tokens} tokens freed")
}

/// `None` for the ordinary next turn.
pub(crate) fn describe_transition(transition: Transition) -> Option<&'static str> {
    Some(match transition {
        Transition::NextTurn => return None,
        Transition::CollapseDrainRetry => "Prompt too long; collapsed old steps and asked again",
        Transition::ReactiveCompactRetry => {
            "Prompt too long; shortened the conversation and asked again"
        }
        Transition::MaxOutputTokensEscalate => {
            "Answer cut at the output limit; asked again with a higher limit"
        }
        Transition::MaxOutputTokensRecovery => {
            "Answer cut at the output limit again; asked the model to continue"
        }
        Transition::StopHookBlocking => "A stop hook objected; continuing",
        Transition::TokenBudgetContinuation => "Token budget left; continuing",
    })
}

pub(crate) fn describe_turn_limit(limit: u32) -> String {
    format!("Turn limit of {limit} reached")
}

/// The first few names, and how many there are.
pub(crate) fn describe_changed_files(files: &[ChangedFile], total: usize) -> String {
    let names: Vec<String> = files
        .iter()
        .take(CHANGED_NAMES_MAX)
        .map(|file| match file.kind {
            ChangeKind::Created => format!("{} (new)", file.path),
            ChangeKind::Modified => file.path.clone(),
            ChangeKind::Deleted => format!("{} (deleted)", file.path),
        })
        .collect();
    let more = if total > names.len() { ", …" } else { "" };
    format!("{} changed: {}{more}", format_counted(total, "file"), names.join(", "))
}

const CHANGED_NAMES_MAX: usize = 4;

pub(crate) fn describe_hook_message(name: &str, text: &str) -> String {
    format!("Hook {name}: {text}")
}

pub(crate) fn describe_side_question(question: &str) -> String {
    format!("Side question: {question}")
}

pub(crate) fn describe_side_failure(why: &str) -> String {
    format!("Side question not answered: {why}")
}

pub(crate) const NOT_COMPACTED: &str = "Not compacted; there may be too little to summarise yet";

// Calls and subagents.

pub(crate) const SUBAGENT_STARTING: &str = "starting";
pub(crate) const SUBAGENT_THINKING: &str = "thinking";
pub(crate) const SUBAGENT_DONE: &str = "done";

pub(crate) const TITLE_PLAN: &str = "Plan";
pub(crate) const THOUGHT_HEAD: &str = "∴ Thought";
pub(crate) const REST_IN_JOURNAL: &str = "… (the rest is in the session's journal)";

pub(crate) fn title_tasks(done: usize, all: usize) -> String {
    format!("Tasks ({done} of {all} done)")
}

pub(crate) fn title_questions(questions: usize) -> String {
    match questions {
        0 | 1 => "Question".to_owned(),
        questions => format!("{questions} questions"),
    }
}

pub(crate) fn describe_earlier_entries(entries: usize) -> String {
    match entries {
        1 => "(1 earlier entry not shown here)".to_owned(),
        entries => format!("({entries} earlier entries not shown here)"),
    }
}

pub(crate) fn describe_folded_output(lines: usize) -> String {
    format!("… {} above (Ctrl-O shows everything)", format_counted(lines, "line"))
}

pub(crate) const FOLDED_SAVED_OUTPUT: &str = "… only the end is shown (Ctrl-O shows more)";

pub(crate) fn describe_saved_output(bytes: u64, path: &str) -> String {
    format!("All of it ({} KiB): {path}", format_count(bytes.div_ceil(1_024)))
}

pub(crate) const DIFF_TOO_LONG: &str = "(too long to compare here)";

pub(crate) fn describe_more_lines(lines: usize) -> String {
    format!("… {} more", format_counted(lines, "line"))
}

pub(crate) fn describe_all_lines(lines: usize) -> String {
    format!("… {} in all", format_counted(lines, "line"))
}

// Permission prompts.

pub(crate) fn ask_permission(tool: &str) -> String {
    match tool {
        "Bash" => "Run this command?".to_owned(),
        "Edit" | "MultiEdit" | "NotebookEdit" => "Make this edit?".to_owned(),
        "Write" => "Write this file?".to_owned(),
        "Read" => "Read this file?".to_owned(),
        "WebFetch" => "Fetch this page?".to_owned(),
        "WebSearch" => "Search the web for this?".to_owned(),
        tool => format!("Allow {tool}?"),
    }
}

/// What the model says a command is for.
pub(crate) fn describe_purpose(words: &str) -> String {
    format!("Model's description: {words}")
}

pub(crate) const CHOICE_NO: &str = "No";
pub(crate) const CHOICE_YES: &str = "Yes, this once";
pub(crate) const CHOICE_EDIT_COMMAND: &str = "Edit the command";
pub(crate) const CHOICE_TRY_FIRST: &str = "Try it first, and show what it changes";
pub(crate) const APPLY_TRIAL: &str = "Apply what this command changed?";
pub(crate) const TRIAL_NO: &str = "No, drop the changes";
pub(crate) const TRIAL_YES: &str = "Yes, apply them";
pub(crate) const CHOICE_NO_REASON: &str = "No, and say what to do instead";
pub(crate) const CHOICE_YES_COMMENT: &str = "Yes, and add a comment";

/// In place of the rules, where each rule is a separate choice.
pub(crate) fn count_rules(rules: usize) -> String {
    format!("all {rules} rules")
}

pub(crate) fn choice_for_session(rules: &str) -> String {
    format!("Yes, and allow {rules} for this session")
}

pub(crate) fn choice_always(rules: &str, file: &str) -> String {
    format!("Yes, and always allow {rules} in this project ({file})")
}

pub(crate) fn choice_part_always(rule: &str) -> String {
    format!("Yes, and always allow only {rule}")
}

/// The model reads these two as well.
pub(crate) const USER_SAID_NO: &str = "The user said no.";

pub(crate) fn describe_denial(reason: &str) -> String {
    format!("The user said no: {reason}")
}

/// How a command ended that was tried first; `None` if a signal ended it.
pub(crate) fn describe_tried_command(
    exit_code: Option<i64>,
    files: usize,
    changes_git: bool,
) -> String {
    let ended = match exit_code {
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    let git = if changes_git { ", git's own state too" } else { "" };
    format!("Ran on a copy, {ended}, {} changed{git}", format_counted(files, "file"))
}

pub(crate) fn describe_changes_outside(folders: &str) -> String {
    format!("Also in {folders}")
}

pub(crate) fn describe_conflicts(files: &str) -> String {
    format!("Changed by others meanwhile: {files}")
}

pub(crate) const APPROVE_PLAN: &str = "Approve this plan?";
pub(crate) const PLAN_NO: &str = "No, keep planning";
pub(crate) const PLAN_YES: &str = "Yes, and ask before edits";
pub(crate) const PLAN_YES_EDITS: &str = "Yes, and accept edits without asking";

pub(crate) const CHOICE_WRITE_ANSWER: &str = "Write an answer";
pub(crate) const CHOICE_OTHER_ANSWER: &str = "Something else";

pub(crate) const LEAD_REASON: &str = "Do this instead:";
pub(crate) const LEAD_COMMENT: &str = "Comment:";
pub(crate) const LEAD_COMMAND: &str = "Run this instead:";
pub(crate) const LEAD_ANSWER: &str = "Your answer:";
pub(crate) const TEXT_ENTRY_HINT: &str = "Enter to send · Esc to go back";

pub(crate) const KEYS_TYPING: &str = "… pause typing to answer";
pub(crate) const KEYS_CHOICE: &str = "↑↓ and Enter, or a number · Esc for no";
pub(crate) const KEYS_FORM: &str = "↑↓ and Enter, or a number · Space to mark · Esc for no";

pub(crate) fn describe_hidden_lines(lines: usize) -> String {
    format!("… {} not shown", format_counted(lines, "line"))
}

pub(crate) fn describe_waiting_questions(questions: usize) -> String {
    match questions {
        1 => "1 more question is waiting".to_owned(),
        questions => format!("{questions} more questions are waiting"),
    }
}

// Lists, inputs and pages.

pub(crate) const PICKER_KEYS: &str = "↑↓ Enter · Esc cancels";
pub(crate) const PICKER_KEYS_SEARCH: &str = "↑↓ Enter · Esc cancels · type to search";
pub(crate) const PICKER_SEARCH: &str = "Search: ";
pub(crate) const INPUT_KEYS: &str = "Enter to confirm · Esc to cancel";
pub(crate) const PAGER_LEAVE: &str = "Esc to go back";
/// The most useful first: a narrow screen shows those that fit.
pub(crate) const PAGER_KEYS: [&str; 3] = ["/ search", "n next", "↑↓ PgUp PgDn"];
pub(crate) const MORE_IN_LARGER_WINDOW: &str = "… (make the window larger to see the rest)";

pub(crate) fn describe_search(query: &str) -> String {
    format!("searching for {query}")
}

pub(crate) fn describe_no_match(query: &str) -> String {
    format!("no match for {query}")
}

pub(crate) fn describe_page(from: usize, to: usize, all: &str) -> String {
    format!("lines {from}–{to} of {all}")
}

// Editor, clipboard, images.

pub(crate) fn describe_edited(path: &Path) -> String {
    format!("Edited {}", path.display())
}

pub(crate) fn describe_editor_failure(error: &std::io::Error) -> String {
    format!("The editor failed: {error}")
}

pub(crate) fn describe_no_edit_file(error: &std::io::Error) -> String {
    format!("No file for the editor: {error}")
}

pub(crate) fn describe_empty_clipboard(tried: &str) -> String {
    format!("No image in the clipboard ({tried})")
}

pub(crate) fn describe_clipboard_without_image(program: &str) -> String {
    format!("{program} has none")
}

pub(crate) const NO_CLIPBOARD_PROGRAM: &str = "no program here knows the clipboard: install wl-paste, \
    xclip or pngpaste, or drag the image in";
pub(crate) const CLIPBOARD_TOO_SLOW: &str = "it takes too long";
pub(crate) const IMAGE_TOO_LARGE: &str = "the image is too large";
pub(crate) const NOT_AN_IMAGE_FILE: &str = "it is not a file, or too large";
pub(crate) const NO_EDIT_FILE_NAME: &str = "no name is left";

pub(crate) fn describe_editor_exit(status: std::process::ExitStatus) -> String {
    format!("it ended with {status}; set EDITOR to another")
}

pub(crate) fn describe_unstored_image(path: &Path, error: &std::io::Error) -> String {
    format!("the image cannot be stored at {}: {error}", path.display())
}

pub(crate) const NOTHING_TO_COPY: &str = "No answer to copy yet";
pub(crate) const CANNOT_COPY: &str =
    "Not copied: this terminal takes no clipboard, or the answer is too long";

pub(crate) fn describe_copied(lines: usize) -> String {
    format!("Copied the last answer ({})", format_counted(lines, "line"))
}

// Background tasks.

pub(crate) fn label_background(tasks: usize) -> String {
    format_counted(tasks, "background task")
}

/// Replaces the text for the model.
pub(crate) fn describe_background_start(id: &str) -> String {
    format!("Runs in the background as {id} · /tasks lists it")
}

pub(crate) const HINT_MOVED: &str = "Moved to the background; /tasks lists it";
pub(crate) const HINT_NOTHING_TO_MOVE: &str = "Nothing to move to the background";

pub(crate) fn warn_before_exit(tasks: usize) -> String {
    let tasks = match tasks {
        1 => "1 background task is running and".to_owned(),
        tasks => format!("{tasks} background tasks are running and"),
    };
    format!("{tasks} will be stopped. Exit again to leave.")
}

// Settings of the conversation.

pub(crate) const VIM_ON: &str = "Vim mode on";
pub(crate) const VIM_OFF: &str = "Vim mode off";

pub(crate) fn describe_new_model(name: &str) -> String {
    format!("Switched to {name}")
}

// The terminal itself.

pub(crate) const THREAD_ENDED: &str = "the terminal's thread is gone";

// What fills the context window.

pub(crate) const CONTEXT_SYSTEM: &str = "system prompt";
pub(crate) const CONTEXT_TOOLS: &str = "tools";
pub(crate) const CONTEXT_MEMORY: &str = "memory and pins";
pub(crate) const CONTEXT_SUMMARIES: &str = "summaries";
pub(crate) const CONTEXT_PROMPTS: &str = "prompts";
pub(crate) const CONTEXT_ANSWERS: &str = "answers";
pub(crate) const CONTEXT_RESULTS: &str = "tool results";
pub(crate) const CONTEXT_FREE: &str = "· free";
pub(crate) const CONTEXT_RESERVED: &str = "▒ reserved for the answer";

/// Of the window. Something is in it, so it is never nothing.
pub(crate) fn format_percent(percent: u64) -> String {
    match percent {
        0 => "<1%".to_owned(),
        percent => format!("{percent}%"),
    }
}

// Help.

pub(crate) const HELP_HEAD: &str = "Commands and keys";
pub(crate) const HELP_KEYS: &str = "Keys";
pub(crate) const HELP_CUSTOM: &str = "Custom commands and MCP prompts";

/// Commands by what people look for.
pub(crate) const HELP_GROUPS: &[(&str, &[&str])] = &[
    (
        "Conversation",
        &["clear", "compact", "resume", "rewind", "diff", "btw", "pin", "export", "copy"],
    ),
    ("Model and cost", &["model", "effort", "context", "cost", "why"]),
    ("Project", &["init", "memory", "permissions", "hooks", "mcp", "agents"]),
    ("Terminal", &["help", "status", "config", "doctor", "tasks", "theme", "vim", "exit"]),
];

pub(crate) const KEYS: &[(&str, &str)] = &[
    ("Enter", "send"),
    ("Ctrl-J", "new line"),
    ("Esc", "interrupt, or clear"),
    ("Esc Esc", "rewind"),
    ("↑ ↓", "earlier prompts"),
    ("Ctrl-R", "search earlier prompts"),
    ("@", "attach a file"),
    ("/", "commands"),
    ("!", "run a shell command"),
    ("Tab", "complete"),
    ("Shift-Tab", "change the mode"),
    ("Ctrl-O", "full transcript"),
    ("Ctrl-T", "show or hide tasks"),
    ("Ctrl-B", "run in background"),
    ("Ctrl-V", "paste an image"),
    ("Ctrl-G", "open your editor"),
    ("Ctrl-L", "redraw"),
    ("Ctrl-Z", "suspend"),
    ("Ctrl-C Ctrl-C", "exit"),
    ("Ctrl-D", "exit"),
];

// Notifications.

pub(crate) const TITLE_IDLE: &str = "Windlass";
pub(crate) const TITLE_WORKING: &str = "Windlass: working";
pub(crate) const TITLE_NEEDS_ANSWER: &str = "Windlass: needs your answer";
pub(crate) const NOTIFY_DONE: &str = "Windlass is done";

pub(crate) fn notify_permission(tool: &str) -> String {
    format!("Windlass needs your answer: {tool}")
}

/// `12 s`, `2 min 5 s`.
pub(crate) fn format_elapsed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
