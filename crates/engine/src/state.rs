//! Where the loop is: a finite part the rules look at, and the large parts they do not.
//!
//! Ten fields survive an iteration. `auto_compact`, `output_recoveries`, `reactive_compact_tried`,
//! `output_cap`, `stop_hook`, `turn` and `transition` are in [`Control`]; `messages` is
//! [`Transcript`], and `tool_context` and `pending_tool_summary` (in [`SideWork`]) stand here under
//! their own names.
//! Everything else in [`State`] belongs to the iteration under way, to the session's account, or
//! to what was said of the outside and not yet taken in.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_permission::Policy;
use windlass_vocabulary::{
    AgentId, AttachmentKind, AttemptId, ContentBlock, Millis, ModelFailure, Ticket, Tokens,
    ToolSpec, Usage,
};

use crate::cache::Prefix;
use crate::chore::Chores;
use crate::context::{LossRecord, Memory};
use crate::control::Control;
use crate::ledger::Ledger;
use crate::settings::Settings;
use crate::tool::circle::Circle;
use crate::tool::queue::Queue;
use crate::transcript::Transcript;

/// Where the loop is.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    /// What the rules look at.
    pub control: Control,
    /// `messages`: the transcript.
    pub transcript: Transcript,
    /// `tool_context`: what a tool result may update.
    pub tool_context: ToolContext,
    /// What is written beside the loop.
    pub side_work: SideWork,
    /// Usage and money.
    pub ledger: Ledger,
    /// What is remembered of requests.
    pub request: RequestMemory,
    /// What was done to make the context smaller.
    pub compaction: CompactionState,
    /// The answer under way.
    pub answer: Answer,
    /// The calls of the answer under way.
    pub queue: Queue,
    /// What waits for the next tool boundary.
    pub inbox: Inbox,
    /// What went wrong, and what was done about it.
    pub recovery: RecoveryState,
    /// What the loop did lately, to see circles.
    pub circle: Circle,
    /// The one errand this phase waits for: a timer, a summary, the stop hooks.
    pub errand: Option<Errand>,
    /// Everything said so far was said elsewhere: the user's context has still to be added.
    pub is_adopted: bool,
    /// Numbers handed out.
    pub next: Next,
}

/// What is written beside the loop, which does not wait for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SideWork {
    /// `pending_tool_summary`: the label of the last batch of tools.
    pub pending_tool_summary: Option<PendingLabel>,
    /// What is seen to beside runs.
    pub chores: Chores,
}

/// What is remembered of requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequestMemory {
    /// Raw estimate of system prompt and tools, and the tools it was counted for.
    pub overhead: Option<(Arc<[ToolSpec]>, u64)>,
    /// What was sent last, to foresee what the provider's cache will hold.
    pub prefix: Option<Prefix>,
}

/// What was done to make the context smaller.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CompactionState {
    /// What the context levels did and must do again the same way.
    pub context: Memory,
    /// What they freed and dropped, for people.
    pub losses: LossRecord,
    /// What the summary under way should dwell on.
    pub focus: Option<String>,
}

/// What went wrong, and what was done about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RecoveryState {
    /// The failure held back until every recovery is spent.
    pub withheld: Option<ModelFailure>,
    /// Repairs since the last good answer.
    pub refusals: u8,
    /// The provider refused reasoning in this session: it is neither sent nor asked for again.
    pub without_reasoning: bool,
    /// The provider refused a request as invalid: from then on it is asked for nothing that is not
    /// plain.
    pub without_clearing: bool,
    /// The stop hook's last words, to see repetition, and its name.
    pub objection: Option<(String, String)>,
    /// All waits of this run together.
    pub waited: Millis,
}

/// What a tool may see and, through its result, change from the next iteration on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolContext {
    /// Tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Mode, rules, working directories.
    pub policy: Policy,
    /// Who runs this loop.
    pub agent: AgentId,
    /// Where commands run, once a tool has said so.
    pub working_directory: Option<Arc<str>>,
    /// The task list in words, if there is one.
    pub tasks: Option<Arc<str>>,
    /// Files the model has seen or written, the latest last.
    pub files: Vec<Arc<str>>,
    /// Tools and modes asked for by results of this turn.
    pub updates: Vec<windlass_vocabulary::ContextUpdate>,
}

/// An errand the current phase waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Its ticket.
    pub ticket: Ticket,
    /// The model call behind it, if there is one.
    pub attempt: Option<AttemptId>,
    /// Models asked for it so far.
    pub tries: u8,
}

/// A label that was asked for, and its text once it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingLabel {
    /// The errand.
    pub ticket: Ticket,
    /// The text, if it came.
    pub text: Option<String>,
}

/// The answer under way. It is not in the transcript before it is complete.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The attempt that brings it; `None` when no request is out.
    pub attempt: Option<AttemptId>,
    /// Whole blocks so far.
    pub blocks: Vec<ContentBlock>,
    /// Text shown of the block that is not whole yet.
    pub partial: String,
    /// Usage so far.
    pub usage: Usage,
    /// The most output that was asked for.
    pub output_max: Tokens,
    /// Weight of the output seen, for the bill of an answer that never says its figures.
    pub streamed: u64,
    /// Results the provider took out on its side, and the input that saved.
    pub cleared: (u64, Tokens),
    /// The server has begun to answer, so it will send a bill.
    pub has_started: bool,
    /// Something of it was shown.
    pub is_shown: bool,
    /// Its message is in the transcript.
    pub is_committed: bool,
}

/// What waits for the next tool boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    /// Input typed while the run was going on, in order.
    pub queued: Vec<Submission>,
    /// Attachments that are ready, in order.
    pub arrived: Vec<(AttachmentKind, String)>,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// It survives every context level.
    pub pinned: bool,
}

/// Numbers handed out, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Next {
    attempt: AttemptId,
    ticket: Ticket,
}

impl Next {
    pub(crate) fn attempt(&mut self) -> AttemptId {
        self.attempt = self.attempt.next();
        self.attempt
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.ticket = self.ticket.next();
        self.ticket
    }
}

impl State {
    /// A session in which nothing has happened.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            control: Control::IDLE,
            transcript: Transcript::default(),
            tool_context: ToolContext {
                tools: settings.tools.clone(),
                policy: settings.policy.clone(),
                agent: settings.agent.id.clone(),
                working_directory: None,
                tasks: None,
                files: Vec::new(),
                updates: Vec::new(),
            },
            side_work: SideWork::default(),
            ledger: Ledger::default(),
            request: RequestMemory::default(),
            compaction: CompactionState::default(),
            answer: Answer::default(),
            queue: Queue::default(),
            inbox: Inbox::default(),
            recovery: RecoveryState::default(),
            circle: Circle::default(),
            errand: None,
            is_adopted: false,
            next: Next::default(),
        }
    }
}

impl State {
    /// The session goes on with other tools and permissions than it began with. What was said and
    /// done stays as it was said and done.
    pub(crate) fn adopt(&mut self, settings: &Settings) {
        let context = &mut self.tool_context;
        context.tools = settings.tools.clone();
        let standing = context.policy.standing.take();
        context.policy = Policy { standing, ..settings.policy.clone() };
        context.agent = settings.agent.id.clone();
        self.request.overhead = None;
    }
}

impl ToolContext {
    /// The model has seen or written this file.
    pub(crate) fn hold(&mut self, path: &Arc<str>) {
        self.files.retain(|held| held != path);
        if self.files.len() >= FILES_MAX {
            self.files.remove(0);
        }
        self.files.push(path.clone());
    }

    /// What a compaction must carry over word for word, whichever model writes the summary: where we work
    /// and what is to be done.
    pub(crate) fn carried(&self) -> String {
        let mut words = String::new();
        let places = self.working_directory.iter().map(|path| &**path);
        let others = self.policy.directories.iter().map(String::as_str);
        let mut seen: Vec<&str> = Vec::new();
        for place in places.chain(others) {
            if !seen.contains(&place) {
                seen.push(place);
            }
        }
        for (label, text) in [
            ("Working directories", seen.join(", ")),
            ("Task list", self.tasks.as_deref().unwrap_or_default().into()),
        ] {
            if !text.is_empty() {
                words.push_str(&alloc::format!("\n\n{label}: {text}"));
            }
        }
        words
    }
}

/// Files remembered as in hand.
const FILES_MAX: usize = 16;

impl Answer {
    /// Output the provider has counted so far.
    pub(crate) fn output(&self) -> Tokens {
        self.usage.output
    }
}
