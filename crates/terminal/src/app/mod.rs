//! What the terminal shows, and what follows from keys and notices. Pure: no clock, no screen, no
//! session. What is to be done outside comes back as [`Wish`]es.

mod finished;
mod keys;
mod running;
mod suggest;
mod told;

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::{Answer, AttemptId, Mode, Ticket};

use crate::approval::Approval;
use crate::composer::Composer;
use crate::composer::vim::Vim;
use crate::draft::Draft;
use crate::entry::{Entries, Entry};
use crate::field::Field;
use crate::files::Found;
use crate::line::{Line, Role};
use crate::menu::Hint;
use crate::pager::Pager;
use crate::picker::Picker;
use crate::text;
pub use finished::Finished;
pub use running::{Child, Running};
pub use suggest::Suggestion;

/// What does not change while a session lasts.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The model that is asked first.
    pub model: String,
    /// Where we work, as it is shown.
    pub directory: String,
    /// Where we work.
    pub folder: String,
    /// The branch, if there is one.
    pub branch: Option<String>,
    /// Tokens the model can see.
    pub window: u64,
    /// What may be spent, in micro-dollars.
    pub budget: Option<u64>,
    /// Commands that may be typed.
    pub commands: Vec<Hint>,
    /// The file in which rules are kept for other sessions, if they may be.
    pub rules_file: Option<String>,
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Say this, or carry it out.
    Submit(String),
    /// Carry out what was chosen from a list.
    Choose(String),
    /// Answer a question.
    Answer(Ticket, Answer),
    /// Keep these rules for other sessions.
    Keep(Vec<String>),
    /// This may run without a question from now on.
    Mode(Mode),
    /// Look for files.
    Find(String),
    /// Read a file, to show what would become of it.
    Look(Ticket, String),
    /// Take back the last thing that waits to be said.
    TakeBack,
    /// Look for an image in the clipboard.
    Image,
    /// Bring an image from elsewhere to where it may be read.
    Bring(String),
    /// Write in an editor.
    Edit,
    /// Stop the process for a while.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Call for attention, with these words.
    Call(String),
    /// Count anew what fills the window.
    Count,
    /// End the run.
    Interrupt,
    /// End the session.
    Quit,
}

/// What a list was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To say something again.
    History,
    /// Each item is a command.
    Command,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct App {
    /// What does not change.
    pub about: About,
    /// A line of the user's own, above the status.
    pub status_line: Option<String>,
    /// What may run without a question.
    pub mode: Mode,
    /// What is being typed.
    pub composer: Composer,
    /// Keys as in vim, if somebody wants them.
    pub vim: Option<Vim>,
    /// Questions, the oldest first.
    pub approvals: VecDeque<Approval>,
    /// Calls under way.
    pub running: Vec<Running>,
    /// The answer as far as it has come.
    pub answer: crate::answer::Answer,
    /// The last words of what the model thinks.
    pub thought: String,
    /// Is a run under way?
    pub is_busy: bool,
    /// Why nothing happens at the moment.
    pub waiting: Option<String>,
    /// Input that waits for the next tool boundary.
    pub queued: Vec<String>,
    /// The task list, in words.
    pub tasks: String,
    /// Is it hidden?
    pub hides_tasks: bool,
    /// The turn it is.
    pub turn: u32,
    /// Tokens of the last request.
    pub tokens: u64,
    /// What fills the window, as counted last.
    pub inventory: Option<Inventory>,
    /// What the session cost, in micro-dollars.
    pub cost: u64,
    /// Time since the session began.
    pub now: Duration,
    /// When the run began.
    pub began: Duration,
    /// A word about what a key would do now.
    pub hint: Option<&'static str>,
    /// Cells of a line, and lines of the screen.
    pub width: usize,
    /// Lines of the screen.
    pub rows: usize,
    /// A list that is open.
    pub picker: Option<(Purpose, Picker)>,
    /// A line that is being written for a command.
    pub field: Option<Field>,
    /// A page that is open.
    pub pager: Option<Pager>,
    /// Everything that happened.
    pub entries: Entries,
    /// What the user may want to say next.
    pub suggested: String,
    /// Files that fit what is typed.
    pub found: Found,
    /// Which of the suggestions is chosen.
    pub chosen: usize,
    /// Suggestions are not wanted for this text.
    dismissed: Option<String>,
    /// Files were asked for with these letters.
    sought: Option<String>,
    /// When a key was pressed last, and whether it was meant for the composer.
    pressed: Option<(Duration, bool)>,
    /// When Escape was pressed with nothing to stop.
    escaped: Option<Duration>,
    /// The mode to be in once this call has ended.
    later: Option<(windlass_vocabulary::ToolCallId, Mode)>,
    attempt: Option<AttemptId>,
    /// Is an answer under way?
    is_answering: bool,
    /// What came of calls of an answer that is still under way: it is shown behind the answer.
    held: Vec<Line>,
    finished: Finished,
}

impl App {
    /// At the beginning.
    #[must_use]
    pub fn new(about: About, mode: Mode, (width, rows): (usize, usize)) -> Self {
        Self { about, mode, width, rows, ..Self::default() }
    }

    /// Lines that are finished and not shown yet, at most so many.
    pub fn take_finished(&mut self, lines_max: usize) -> Vec<Line> {
        self.finished.take(self.width, lines_max)
    }

    /// Is everything that is finished shown?
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.finished.is_empty() && self.answer.is_drawn()
    }

    /// The same where an answer is shown when it is whole.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.finished.is_empty()
    }

    /// Shows lines for good.
    pub fn finish(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.finished.push(lines);
    }

    /// Shows a text in Markdown for good.
    pub fn finish_text(&mut self, text: &str) {
        let mut draft = Draft::default();
        draft.push(text);
        self.finished.text(draft);
    }

    /// Shows what came of a call, behind the answer that asked for it.
    fn finish_call(&mut self, lines: Vec<Line>) {
        match self.is_answering {
            true => self.held.extend(lines),
            false => self.finish(lines),
        }
    }

    /// The answer is there, or will not come.
    fn answer_is_over(&mut self) {
        self.is_answering = false;
        let held = std::mem::take(&mut self.held);
        self.finish(held);
    }

    /// Shows words for good, as they are.
    pub fn say(&mut self, words: &str, role: Role) {
        let lines = text::plain(words, role, self.width);
        self.finish(lines);
    }

    /// A quiet line about something on the way.
    pub fn quiet(&mut self, words: &str) {
        let words = text::one_line(words);
        let line = Line::of(format!("  · {words}"), Role::Quiet);
        self.finish(line.wrapped(self.width, 4));
        self.entries.push(Entry::Quiet(words));
    }

    /// Draws what is new of the answer, before the view looks at it.
    pub fn settle(&mut self) {
        self.answer.draw(self.width);
        let over = self.answer.overflow(self.rows);
        self.finished.push(over);
    }

    /// May the question be answered? Not by keys that were meant for something else: they get a
    /// moment to pass.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.armed_at().is_none_or(|at| at <= self.now)
    }

    /// When a question may be answered.
    #[must_use]
    pub fn armed_at(&self) -> Option<Duration> {
        self.pressed.map(|(at, _)| at + GUARD)
    }

    /// Do keys still go to the composer, although something is asked?
    #[must_use]
    pub fn is_composing(&self) -> bool {
        self.approvals.is_empty()
            || (!self.is_armed() && self.pressed.is_some_and(|(_, composing)| composing))
    }

    /// What a file holds, to show what would become of it.
    pub fn looked(&mut self, ticket: Ticket, before: Option<String>) {
        if let Some(asked) = self.approvals.iter_mut().find(|asked| asked.ticket == ticket) {
            asked.looked(before);
        }
    }
}

/// How long keys that follow one another are taken for one burst of typing.
const GUARD: Duration = Duration::from_millis(400);
