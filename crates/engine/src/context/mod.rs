//! The five levels, light to heavy, that keep the projection within the window.
//!
//! Each is a projection over the transcript, never a rewrite of it, and remembers what it did:
//! what was shortened once stays shortened the same way, or the provider's prompt cache is lost.
//! Levels 1 to 4 run here in order before every request; level 5 is asked for by the rules.

pub mod estimate;
pub mod inventory;
pub mod level_1_tool_result_budget;
pub mod level_2_history_snip;
pub mod level_3_microcompact;
pub mod level_4_context_collapse;
pub mod level_5_autocompact;
pub mod loss;
pub mod projection;
pub(crate) mod quarantine;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{Message, MessageId, Tokens, ToolSpec};

use crate::context::level_3_microcompact::Verbose;
use crate::settings::Settings;
use crate::transcript::{Entry, Transcript};

pub use inventory::inventory;
pub use level_4_context_collapse::Collapse;
pub use level_5_autocompact::Boundary;
pub use loss::LossRecord;
pub use projection::Projection;

/// What the levels did. The projection is a function of this and the transcript; it is kept and
/// grows with the transcript, and is made anew only after a level changed something old.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Levels 1 and 3, and what was refused: messages that are sent in a shorter form.
    shortened: BTreeMap<MessageId, Entry>,
    /// Level 1: the newest message already looked at.
    budgeted: Option<MessageId>,
    /// Level 2: messages before this one are not sent.
    snipped_before: Option<MessageId>,
    /// Level 2: those before it that are sent all the same: requests and pinned ones.
    stays: Vec<MessageId>,
    /// Level 3: results before this one are as short as they get.
    microcompacted_before: Option<MessageId>,
    /// Level 3: what could be shortened and did not pay yet.
    verbose: Verbose,
    /// Level 4: stretches that may be sent as one line, oldest first.
    collapses: Vec<Collapse>,
    /// Level 4: how many of them are.
    committed: usize,
    /// Level 5: the last summary and what is kept beside it.
    boundary: Option<Boundary>,
    /// The projection, as far as the transcript was seen.
    projection: Projection,
}

impl Memory {
    /// The projection of everything there is by now.
    pub fn projection(&mut self, transcript: &Transcript) -> &Projection {
        let mut projection = core::mem::take(&mut self.projection);
        projection.extend(self, transcript);
        // Short sessions show every rule; in long ones this would cost more than the session.
        debug_assert!(
            transcript.entries().len() > CHECKED_MAX
                || projection == Projection::new(self, transcript),
            "what was kept is what would be made"
        );
        self.projection = projection;
        &self.projection
    }

    /// What stands before the body: a summary and what is sent beside it, then what survived a snip.
    fn head(&self) -> impl Iterator<Item = MessageId> {
        let boundary = self.boundary.iter().flat_map(|boundary| {
            boundary.before.iter().chain([&boundary.summary]).chain(&boundary.after)
        });
        let after_summary = self.after_summary();
        let stays = self.stays.iter().filter(move |id| **id >= after_summary);
        boundary.chain(stays).copied()
    }

    /// Where the body begins: behind the summary and behind what was snipped.
    fn body_start(&self) -> MessageId {
        self.after_summary().max(self.snipped_before.unwrap_or(MessageId(0)))
    }

    /// From now on this message is sent like this.
    fn shorten(&mut self, id: MessageId, short: Entry) {
        let body_start = self.body_start();
        self.projection.forget_from(id, body_start);
        self.shortened.insert(id, short);
    }

    /// A summary was placed: everything but what is sent in a shorter form starts afresh.
    fn restart(&mut self, boundary: Boundary) {
        let shortened = core::mem::take(&mut self.shortened);
        let budgeted = Some(boundary.summary);
        *self = Self { boundary: Some(boundary), shortened, budgeted, ..Self::default() };
    }

    /// The form in which a message is sent.
    fn shown<'a>(&'a self, entry: &'a Entry) -> &'a Entry {
        self.shortened.get(&entry.message.id).unwrap_or(entry)
    }

    /// The first message that is not behind the last summary.
    fn after_summary(&self) -> MessageId {
        self.boundary.as_ref().map_or(MessageId(0), |boundary| boundary.summary.next())
    }

    /// What is sent as one line.
    fn collapsed(&self) -> &[Collapse] {
        self.collapses.get(..self.committed).unwrap_or_default()
    }
}

/// Projections of longer transcripts are not made a second time to compare them, not even in tests.
const CHECKED_MAX: usize = 512;

/// What one pass of the levels did, for the record and for the driver.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Full texts that go to disk.
    pub spills: Vec<(Arc<str>, String)>,
    /// What each level freed and dropped.
    pub shrunk: Vec<Shrink>,
}

/// What one level freed and dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// The level, 1 to 5.
    pub level: u8,
    /// Raw estimate of what was freed.
    pub freed: u64,
    /// What was dropped, for people.
    pub losses: Vec<String>,
}

/// The sizes that matter for one model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Tokens of input and output together.
    pub window: Tokens,
    /// Over this nothing can be sent.
    pub limit: Tokens,
    /// Over this a summary is asked for.
    pub threshold: Tokens,
}

impl Room {
    /// The room a model gives: what is reserved for its output comes off first, then the summary's
    /// own size.
    #[must_use]
    pub fn new(settings: &Settings, place: u8) -> Self {
        let model = settings.model_at(place);
        let reserved = model.output_default.min(Tokens(model.window.0 / 2));
        let limit = model.window.less(reserved);
        let summary = settings.context.summary_tokens.min(Tokens(limit.0 / 4));
        Self { window: model.window, limit, threshold: limit.less(summary) }
    }

    /// So many percent of the window.
    #[must_use]
    pub fn percent(&self, percent: u8) -> Tokens {
        Tokens(self.window.0.saturating_mul(u64::from(percent)) / 100)
    }
}

/// What the levels look at.
pub(crate) struct View<'a> {
    pub(crate) transcript: &'a Transcript,
    pub(crate) settings: &'a Settings,
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) room: Room,
    /// Old results are taken out on the provider's side.
    pub(crate) is_cleared_by_provider: bool,
    /// Raw estimate to tokens, as the ledger knows it now.
    pub(crate) estimate: &'a dyn Fn(u64) -> Tokens,
    /// Raw estimate of system prompt and tools.
    pub(crate) overhead: u64,
}

impl View<'_> {
    /// Tokens of the projection as it stands.
    pub(crate) fn tokens(&self, memory: &mut Memory) -> Tokens {
        (self.estimate)(self.overhead + memory.projection(self.transcript).raw)
    }
}

/// Runs levels 1 to 4 in order; only the first, which sees nothing but new messages, when no room is
/// to be made.
pub(crate) fn prepare(memory: &mut Memory, view: &View<'_>, makes_room: bool) -> Report {
    let mut report = Report::default();
    level_1_tool_result_budget::apply(memory, view, &mut report);
    if !makes_room {
        return report;
    }
    level_2_history_snip::apply(memory, view, &mut report);
    level_3_microcompact::apply(memory, view, &mut report);
    level_4_context_collapse::apply(memory, view, &mut report);
    report
}

/// The same message with other content.
pub(crate) fn with_content(
    message: &Message,
    content: Vec<windlass_vocabulary::ContentBlock>,
) -> Entry {
    let message = Message { content, ..message.clone() };
    let raw = estimate::message(&message);
    Entry { message: Arc::new(message), raw }
}
