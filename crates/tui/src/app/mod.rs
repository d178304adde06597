//! What the terminal shows, and what follows from keys and notices. Pure: no clock, no screen, no
//! session. What is to be done outside comes back as [`AppAction`]es.

mod keys;
mod notices;
mod running_call;
mod scrollback_queue;
mod suggestion;

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{AttemptId, PermissionAnswer, PermissionMode, Ticket};

use crate::composer::Composer;
use crate::composer::vim::Vim;
use crate::file_search::FileNameMatches;
use crate::markdown_stream::MarkdownStream;
use crate::pager::Pager;
use crate::permission_prompt::PermissionPrompt;
use crate::picker::Picker;
use crate::slash_command_menu::SlashCommandHint;
use crate::styled_line::{StyledLine, TextStyle};
use crate::text;
use crate::transcript::{TranscriptBuffer, TranscriptEntry};
use crate::validated_input::ValidatedInput;
pub use running_call::{RunningCall, SubagentProgress};
pub use scrollback_queue::ScrollbackQueue;
pub use suggestion::Suggestion;

/// What does not change while a session lasts.
#[derive(Clone, Debug, Default)]
pub struct TuiSessionFacts {
    /// The model that is asked first.
    pub model: String,
    /// Where we work, as it is shown.
    pub directory_label: String,
    /// Where we work.
    pub working_directory: String,
    /// The branch, if there is one.
    pub branch: Option<String>,
    /// Tokens the model can see.
    pub context_window: u64,
    /// What may be spent, in micro-dollars.
    pub budget: Option<u64>,
    /// Commands that may be typed.
    pub commands: Vec<SlashCommandHint>,
    /// The file in which rules are kept for other sessions, if they may be.
    pub rules_file: Option<String>,
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppAction {
    /// Say this, or carry it out.
    Submit(String),
    /// Carry out what was chosen from a list.
    SubmitChoice(String),
    /// Answer a question.
    AnswerPermission(Ticket, PermissionAnswer),
    /// Keep these rules for other sessions.
    SaveRules(Vec<String>),
    /// This may run without a question from now on.
    SetMode(PermissionMode),
    /// Look for files.
    SearchFiles(String),
    /// Read a file, to show what would become of it.
    ReadFile(Ticket, String),
    /// Take back the last thing that waits to be said.
    UnqueueInput,
    /// Look for an image in the clipboard.
    PasteImage,
    /// Bring an image from elsewhere to where it may be read.
    ImportImage(String),
    /// Write in an editor.
    OpenEditor,
    /// Stop the process for a while.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Call for attention, with these words.
    Notify(String),
    /// Count anew what fills the window.
    CountContext,
    /// End the run.
    Interrupt,
    /// End the session.
    Quit,
}

/// What a list was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerPurpose {
    /// To say something again.
    History,
    /// Each item is a command.
    Command,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct App {
    /// What does not change.
    pub facts: TuiSessionFacts,
    /// A line of the user's own, above the status.
    pub status_line: Option<String>,
    /// What may run without a question.
    pub mode: PermissionMode,
    /// What is being typed.
    pub composer: Composer,
    /// Keys as in vim, if somebody wants them.
    pub vim: Option<Vim>,
    /// Questions, the oldest first.
    pub permission_prompts: VecDeque<PermissionPrompt>,
    /// Calls under way.
    pub running_calls: Vec<RunningCall>,
    /// The answer as far as it has come.
    pub answer: crate::streaming_answer::StreamingAnswer,
    /// The last words of what the model thinks.
    pub thinking_tail: String,
    /// Is a run under way?
    pub is_busy: bool,
    /// Why nothing happens at the moment.
    pub retry_message: Option<String>,
    /// Input that waits for the next tool boundary.
    pub queued_input: Vec<String>,
    /// The task list, in words.
    pub task_list: String,
    /// Is it hidden?
    pub hides_tasks: bool,
    /// The turn it is.
    pub turn: u32,
    /// Tokens of the last request.
    pub context_tokens: u64,
    /// What fills the window, as counted last.
    pub inventory: Option<ContextUsage>,
    /// What the session cost, in micro-dollars.
    pub cost: u64,
    /// Time since the session began.
    pub now: Duration,
    /// When the run began.
    pub run_started: Duration,
    /// A word about what a key would do now.
    pub key_hint: Option<&'static str>,
    /// Cells of a line, and lines of the screen.
    pub width: usize,
    /// Lines of the screen.
    pub rows: usize,
    /// A list that is open.
    pub picker: Option<(PickerPurpose, Picker)>,
    /// A line that is being written for a command.
    pub validated_input: Option<ValidatedInput>,
    /// A page that is open.
    pub pager: Option<Pager>,
    /// Everything that happened.
    pub transcript: TranscriptBuffer,
    /// What the user may want to say next.
    pub suggested_prompt: String,
    /// Files that fit what is typed.
    pub file_matches: FileNameMatches,
    /// Which of the suggestions is chosen.
    pub selected_suggestion: usize,
    /// Suggestions are not wanted for this text.
    dismissed_for: Option<String>,
    /// Files were asked for with these letters.
    file_query: Option<String>,
    /// When a key was pressed last, and whether it was meant for the composer.
    last_key: Option<(Duration, bool)>,
    /// When Escape was pressed with nothing to stop.
    escape_pressed: Option<Duration>,
    /// The mode to be in once this call has ended.
    mode_after_call: Option<(windlass_vocabulary::ToolCallId, PermissionMode)>,
    attempt: Option<AttemptId>,
    /// Is an answer under way?
    is_answering: bool,
    /// What came of calls of an answer that is still under way: it is shown behind the answer.
    deferred_lines: Vec<StyledLine>,
    scrollback: ScrollbackQueue,
}

impl App {
    /// At the beginning.
    #[must_use]
    pub fn new(
        facts: TuiSessionFacts,
        mode: PermissionMode,
        (width, rows): (usize, usize),
    ) -> Self {
        Self { facts, mode, width, rows, ..Self::default() }
    }

    /// Lines that are finished and not shown yet, at most so many.
    pub fn take_scrollback(&mut self, lines_max: usize) -> Vec<StyledLine> {
        self.scrollback.take_lines(self.width, lines_max)
    }

    /// Is everything that is finished shown?
    #[must_use]
    pub fn is_fully_shown(&self) -> bool {
        self.scrollback.is_empty() && self.answer.is_fully_drawn()
    }

    /// The same where an answer is shown when it is whole.
    #[must_use]
    pub fn is_scrollback_empty(&self) -> bool {
        self.scrollback.is_empty()
    }

    /// Shows lines for good.
    pub fn push_scrollback(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.scrollback.push(lines);
    }

    /// Shows a text in Markdown for good.
    pub fn push_markdown(&mut self, text: &str) {
        let mut draft = MarkdownStream::default();
        draft.push(text);
        self.scrollback.push_markdown(draft);
    }

    /// Shows what came of a call, behind the answer that asked for it.
    fn push_call_lines(&mut self, lines: Vec<StyledLine>) {
        match self.is_answering {
            true => self.deferred_lines.extend(lines),
            false => self.push_scrollback(lines),
        }
    }

    /// The answer is there, or will not come.
    fn end_answer(&mut self) {
        self.is_answering = false;
        let held = std::mem::take(&mut self.deferred_lines);
        self.push_scrollback(held);
    }

    /// Shows words for good, as they are.
    pub fn show_text(&mut self, words: &str, role: TextStyle) {
        let lines = text::render_plain(words, role, self.width);
        self.push_scrollback(lines);
    }

    /// A quiet line about something on the way.
    pub fn show_dim_line(&mut self, words: &str) {
        let words = text::to_one_line(words);
        let line = StyledLine::from_text(format!("  · {words}"), TextStyle::Dim);
        self.push_scrollback(line.wrap(self.width, 4));
        self.transcript.push(TranscriptEntry::Note(words));
    }

    /// Draws what is new of the answer, before the view looks at it.
    pub fn draw_answer(&mut self) {
        self.answer.draw(self.width);
        let over = self.answer.take_overflow(self.rows);
        self.scrollback.push(over);
    }

    /// May the question be answered? Not by keys that were meant for something else: they get a
    /// moment to pass.
    #[must_use]
    pub fn may_answer_prompt(&self) -> bool {
        self.prompt_answerable_at().is_none_or(|at| at <= self.now)
    }

    /// When a question may be answered.
    #[must_use]
    pub fn prompt_answerable_at(&self) -> Option<Duration> {
        self.last_key.map(|(at, _)| at + TYPING_PAUSE)
    }

    /// Do keys still go to the composer, although something is asked?
    #[must_use]
    pub fn is_composing(&self) -> bool {
        self.permission_prompts.is_empty()
            || (!self.may_answer_prompt() && self.last_key.is_some_and(|(_, composing)| composing))
    }

    /// What a file holds, to show what would become of it.
    pub fn set_file_before(&mut self, ticket: Ticket, before: Option<String>) {
        if let Some(asked) = self.permission_prompts.iter_mut().find(|asked| asked.ticket == ticket)
        {
            asked.set_file_before(before);
        }
    }
}

/// How long keys that follow one another are taken for one burst of typing.
const TYPING_PAUSE: Duration = Duration::from_millis(400);
