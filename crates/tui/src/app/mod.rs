//! The state of the TUI, and how keys and notices change it. Pure: no clock, no screen, no session.
//! What must be done outside is returned as [`AppAction`]s.

mod answer_blocks;
mod answer_progress;
mod completion;
mod keys;
mod notices;
mod run_progress;
mod running_call;
mod scrollback_queue;
mod task_list;
mod waiting_blocks;

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Message, PermissionAnswer, PermissionMode, Ticket, ToolCallId};

use crate::composer::Composer;
use crate::composer::vim::Vim;
use crate::markdown_stream::MarkdownStream;
use crate::pager::Pager;
use crate::permission_prompt::PermissionPrompt;
use crate::picker::Picker;
use crate::prompt_view;
use crate::screen_size::ScreenSize;
use crate::session_facts::TuiSessionFacts;
use crate::slash_command_menu::SlashCommandMenu;
use crate::styled_line::{StyledLine, TextStyle};
use crate::text;
use crate::transcript::{TranscriptBuffer, TranscriptEntry};
use crate::typed_prompt::{SentPrompt, TypedPrompt};
use crate::validated_input::ValidatedInput;
use crate::view::help_page;
use crate::words;
pub use answer_progress::AnswerProgress;
pub use completion::{PromptCompletion, Suggestion};
pub use run_progress::{RetryProgress, RunProgress, RunState};
pub use running_call::{RunningCall, SubagentProgress};
pub use scrollback_queue::ScrollbackQueue;
pub use task_list::{TaskList, TaskListRow, TaskMark};
pub use waiting_blocks::{WaitingBlocks, WaitingCall};

/// What the event loop must do after a key or a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppAction {
    /// Resolve a prompt that the user typed, and remember it.
    Submit(TypedPrompt),
    /// Resolve a prompt that was chosen from a list. It was not typed, so it is not remembered.
    SubmitChoice(String),
    AnswerPermission(Ticket, PermissionAnswer),
    /// Send the model a message at its next step, even if it looks like a command.
    SendComment(String),
    /// Save rules that outlive the session.
    SaveRules(Vec<String>),
    SetMode(PermissionMode),
    SearchFiles(String),
    /// Read a file, so that the permission prompt can show a diff.
    ReadFile(Ticket, String),
    /// Take back the last prompt that waits for the next step.
    UnqueueInput,
    /// Take back all of them.
    UnqueueAll,
    /// Say why a run failed, and what to do about it.
    ExplainEnding(Box<RunEnding>),
    /// Take an image from the clipboard.
    PasteImage,
    /// Copy a dragged image to where the session may read it.
    ImportImage(String),
    OpenEditor,
    /// Let agents that calls wait for go on in the background.
    MoveToBackground,
    /// Stop the process, as Ctrl-Z does in a shell.
    Suspend,
    Redraw,
    /// Ring the bell, or show this text as a notification.
    Notify(String),
    /// Count again what fills the context window.
    CountContext,
    Interrupt,
    Quit,
}

/// What choosing an item of the open picker means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerPurpose {
    /// The item becomes the text of the composer.
    History,
    /// The item is a prompt that is resolved at once.
    Command,
}

#[derive(Debug, Default)]
pub struct App {
    pub session: SessionStatus,
    pub run: RunProgress,
    pub answer: AnswerProgress,
    pub usage: SessionUsage,
    pub input: PromptInput,
    pub completion: PromptCompletion,
    pub dialogs: OpenDialogs,
    pub keys: KeyTiming,
    pub tasks: TaskList,
    pub transcript: TranscriptBuffer,
    pub size: ScreenSize,
    /// Time since the TUI started.
    pub now: Duration,
    scrollback: ScrollbackQueue,
}

/// What the status lines show of the session.
#[derive(Debug, Default)]
pub struct SessionStatus {
    pub facts: TuiSessionFacts,
    /// The user's own status line.
    pub status_line: Option<String>,
    pub mode: PermissionMode,
    /// Commands and agents that run in the background.
    pub background_tasks: usize,
    /// The mode to switch to once this call has ended well.
    mode_after_call: Option<(ToolCallId, PermissionMode)>,
}

#[derive(Debug, Default)]
pub struct SessionUsage {
    /// Tokens of the last request.
    pub context_tokens: u64,
    /// What fills the context window, as counted last.
    pub inventory: Option<ContextUsage>,
    /// What was spent, in micro-dollars; also on what was rewound since.
    pub cost: u64,
    /// What the session said last that it has cost.
    counted: u64,
    /// The session was rewound, and has not said since what it has cost.
    is_rewound: bool,
}

impl SessionUsage {
    /// After a rewind a session counts from the prompt it went back to; what came after it is paid for
    /// all the same.
    fn count_cost(&mut self, total: u64, of_request: u64) {
        if std::mem::take(&mut self.is_rewound) {
            self.counted = total.saturating_sub(of_request);
        }
        self.cost += total.saturating_sub(self.counted);
        self.counted = total;
    }

    /// Includes what earlier runs spent on what was rewound.
    pub fn set_spent_before(&mut self, spent: u64) {
        self.cost = self.cost.max(spent);
    }
}

/// The next prompt, and those that were sent and not delivered yet.
#[derive(Debug, Default)]
pub struct PromptInput {
    pub composer: Composer,
    pub vim: Option<Vim>,
    /// Prompts that wait for the next tool boundary.
    pub queued_input: Vec<SentPrompt>,
    /// Prompts that were sent and have not come back as messages yet.
    sent_prompts: VecDeque<SentPrompt>,
    /// What the model thinks the user may ask next; empty if nothing.
    pub suggested_prompt: String,
}

impl PromptInput {
    /// Must be called before the prompt is sent: the message that comes back is shown as it was typed.
    pub fn expect_sent(&mut self, prompt: SentPrompt) {
        self.sent_prompts.push_back(prompt);
        while self.sent_prompts.len() > SENT_PROMPTS_MAX {
            self.sent_prompts.pop_front();
        }
    }

    /// The prompt of which the model gets this text.
    fn find_sent(&self, sent: &str) -> SentPrompt {
        let known = self.sent_prompts.iter().find(|prompt| prompt.sent == sent);
        known
            .cloned()
            .unwrap_or_else(|| SentPrompt { sent: sent.to_owned(), typed: TypedPrompt::from(sent) })
    }

    /// The prompt that became this message. It waits no longer.
    fn take_sent(&mut self, message: &Message) -> SentPrompt {
        let sent = message.text();
        if let Some(at) = self.queued_input.iter().position(|queued| queued.sent == sent) {
            self.queued_input.remove(at);
        }
        let known = self.sent_prompts.iter().position(|prompt| prompt.sent == sent);
        known
            .and_then(|at| self.sent_prompts.remove(at))
            .unwrap_or_else(|| SentPrompt::from_content(&message.content))
    }

    /// A prompt that waited was taken back; returns it as it was typed.
    pub fn unqueue(&mut self, sent: &str) -> String {
        let prompt = self.find_sent(sent);
        self.sent_prompts.retain(|prompt| prompt.sent != sent);
        if let Some(at) = self.queued_input.iter().rposition(|queued| queued.sent == sent) {
            self.queued_input.remove(at);
        }
        prompt.typed.text
    }
}

/// The dialogs above the composer. Several may be open, because an answer of the host may be late:
/// keys go to the pager first, then to the picker, the input, the permission prompt.
#[derive(Debug, Default)]
pub struct OpenDialogs {
    /// The list of keys, until the next key.
    pub is_showing_keys: bool,
    /// The oldest first.
    pub permission_prompts: VecDeque<PermissionPrompt>,
    pub picker: Option<(PickerPurpose, Picker)>,
    pub validated_input: Option<ValidatedInput>,
    pub pager: Option<Pager>,
}

#[derive(Debug, Default)]
pub struct KeyTiming {
    last_key: Option<LastKey>,
    /// When Escape was pressed with nothing to stop or clear.
    escape_pressed: Option<Duration>,
    /// The same for Ctrl-C.
    cancel_pressed: Option<Duration>,
    /// What the next key would do.
    pub hint: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct LastKey {
    at: Duration,
    is_for_composer: bool,
}

impl App {
    pub fn new(facts: TuiSessionFacts, mode: PermissionMode, size: ScreenSize) -> Self {
        let session = SessionStatus { facts, mode, ..SessionStatus::default() };
        Self { session, size, ..Self::default() }
    }

    /// Takes finished lines that are not shown yet.
    pub fn take_scrollback(&mut self, lines_max: usize) -> Vec<StyledLine> {
        self.scrollback.take_lines(self.size.width, lines_max)
    }

    /// Is everything finished shown, and everything streamed drawn?
    pub fn is_fully_shown(&self) -> bool {
        self.scrollback.is_empty()
            && self.answer.stream.is_fully_drawn()
            && self.answer.waiting.is_fully_drawn()
    }

    /// Like [`is_fully_shown`](Self::is_fully_shown), for painters that show an answer only when it
    /// is complete.
    pub fn is_scrollback_empty(&self) -> bool {
        self.scrollback.is_empty()
    }

    pub fn push_scrollback(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.scrollback.push(lines);
    }

    pub fn push_markdown(&mut self, text: &str) {
        let mut draft = MarkdownStream::default();
        draft.push(text);
        self.scrollback.push_markdown(draft);
    }

    /// Is the task list directly above the live lines already?
    pub fn is_task_list_above(&self) -> bool {
        self.tasks.is_last_block(self.scrollback.pushed_lines())
            && self.answer.stream.lines().next().is_none()
    }

    /// Is a blank line needed between the live lines and the output above them?
    pub fn needs_blank_line(&self) -> bool {
        self.scrollback.needs_blank_line()
    }

    /// As above, if the live lines are calls: no blank line separates them from short ended ones.
    pub fn needs_blank_line_before_call(&self) -> bool {
        self.scrollback.needs_blank_line_before_call()
    }

    /// The conversation was rewound: cost and tasks are those of that point.
    pub fn rewind_to(&mut self, words: &str, prompt: String, tasks: &str) {
        self.show_text(words, TextStyle::Dim);
        self.input.composer.set_text(prompt);
        self.usage.is_rewound = true;
        self.tasks.update(tasks);
    }

    /// Shows a command that was typed, above what it prints.
    pub fn show_command(&mut self, typed: &str) {
        self.scrollback.start_text();
        self.push_scrollback(prompt_view::render_prompt(typed.trim_end(), self.size.width, 1));
    }

    /// Shows what the session is, and how to begin.
    pub fn show_banner(&mut self) {
        let facts = &self.session.facts;
        let place = match &facts.branch {
            Some(branch) => format!("{} ({branch})", facts.directory_label),
            None => facts.directory_label.clone(),
        };
        let about = format!("{} · {place}", facts.model);
        let mut lines = vec![StyledLine::from_text(words::banner_title(), TextStyle::Heading)];
        lines.extend(StyledLine::from_text(about, TextStyle::Dim).wrap(self.size.width, 0));
        lines.push(StyledLine::new());
        for tip in words::TIPS {
            let line = StyledLine::from_text(format!("  {tip}"), TextStyle::Plain);
            lines.extend(line.wrap(self.size.width, 2));
        }
        lines.push(StyledLine::new());
        self.push_scrollback(lines);
    }

    /// Opens the page with all commands and keys.
    pub fn open_help(&mut self) {
        let lines = help_page::render_help(&self.session.facts.commands, self.size.width);
        self.dialogs.pager = Some(Pager::open_page(lines, self.size));
    }

    /// Shows lines as a block of their own.
    pub fn show_lines(&mut self, lines: Vec<StyledLine>) {
        self.scrollback.start_text();
        self.push_scrollback(lines);
    }

    pub fn show_text(&mut self, words: &str, style: TextStyle) {
        self.scrollback.start_text();
        let lines = text::render_plain(words, style, self.size.width);
        self.push_scrollback(lines);
    }

    /// Shows a remark, and keeps it in the transcript.
    pub fn show_dim_line(&mut self, words: &str) {
        let words = text::to_one_line(words);
        self.scrollback.push_remark(Self::wrap_remark(&words, self.size.width));
        self.transcript.push(TranscriptEntry::Note(words));
    }

    fn wrap_remark(words: &str, width: usize) -> Vec<StyledLine> {
        let words = text::to_one_line(words);
        StyledLine::from_text(format!("  · {words}"), TextStyle::Dim).wrap(width, 4)
    }

    /// Puts prompts that were taken back into the composer, before what is typed there.
    pub fn return_to_composer(&mut self, taken: &[String]) {
        let mut prompts: Vec<String> = taken.iter().map(|sent| self.input.unqueue(sent)).collect();
        if prompts.is_empty() {
            return;
        }
        let typed = self.input.composer.full_text();
        prompts.extend((!typed.is_empty()).then_some(typed));
        self.input.composer.set_text(prompts.join("\n"));
    }

    /// Draws the new part of the answer. Must run before the view is rendered.
    pub fn draw_answer(&mut self) {
        self.answer.stream.draw(self.size.width);
        self.answer.waiting.draw(self.size.width);
        let over = self.answer.stream.take_overflow(self.size.rows);
        if !over.is_empty() {
            self.scrollback.push_answer_lines(over);
        }
    }

    /// May a key answer the permission prompt? Keys that were meant for something else get a moment
    /// to pass first.
    pub fn may_answer_prompt(&self) -> bool {
        self.prompt_answerable_at().is_none_or(|at| at <= self.now)
    }

    pub fn prompt_answerable_at(&self) -> Option<Duration> {
        self.keys.last_key.map(|key| key.at + TYPING_PAUSE)
    }

    /// Is the beginning of a slash command typed?
    pub fn is_typing_command(&self) -> bool {
        let text = self.input.composer.text();
        text.starts_with('/') && !text.contains(char::is_whitespace)
    }

    /// Was the beginning of a slash command typed lately that no known one fits? An MCP server that is
    /// still connecting may bring it.
    pub fn awaits_commands(&self) -> bool {
        let text = self.input.composer.text();
        let menu = SlashCommandMenu::find_matching(text, &self.session.facts.commands);
        let typed_lately =
            self.keys.last_key.is_some_and(|key| self.now < key.at + COMMANDS_WAIT_MAX);
        self.is_typing_command() && typed_lately && menu.first_name().is_none()
    }

    /// Do keys still go to the composer, although a permission prompt is open?
    pub fn is_composing(&self) -> bool {
        let was_composing = self.keys.last_key.is_some_and(|key| key.is_for_composer);
        self.dialogs.permission_prompts.is_empty() || (!self.may_answer_prompt() && was_composing)
    }

    /// Passes the content of a file to the permission prompt that shows a diff of it.
    pub fn set_file_before(&mut self, ticket: Ticket, before: Option<String>) {
        let mut prompts = self.dialogs.permission_prompts.iter_mut();
        if let Some(prompt) = prompts.find(|prompt| prompt.ticket == ticket) {
            prompt.set_file_before(before);
        }
    }
}

/// Prompts that the session took and reported in no way; only a hook can cause that.
const SENT_PROMPTS_MAX: usize = 64;
/// How long keys that follow one another count as one burst of typing.
const TYPING_PAUSE: Duration = Duration::from_millis(400);

/// How long after the last key a command that is not known yet is looked for.
const COMMANDS_WAIT_MAX: Duration = Duration::from_secs(30);
