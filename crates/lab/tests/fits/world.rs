//! The world around one session, and what must be true of every request that comes out of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_engine::context::{Room, estimate};
use windlass_engine::{Effect, Event};
use windlass_lab::manual_session::{ManualSession, find_estimate};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, ContextUpdate, FailureKind, MediaContent, Message, MessageId,
    MessageOrigin, MetaKind, ModelFailure, ModelRequest, Notice, Terminal, ToolCallId, ToolOutcome,
    ToolResultPart, Usage,
};

use crate::any::{Answer, Manner, Script, Step, Summary};

pub(crate) struct World {
    session: ManualSession,
    rate: u64,
    /// What tools answered, to find it again.
    originals: BTreeMap<ToolCallId, Vec<ToolResultPart>>,
    /// The forms in which a result was sent, in order.
    forms: BTreeMap<ToolCallId, Vec<Vec<ToolResultPart>>>,
    /// Raw size of what was sent before a compaction, and the first message it did not hold.
    before: Option<(u64, MessageId)>,
    /// Words that the last compaction had to carry over and that are still as they were.
    carried: Vec<Arc<str>>,
    /// The provider refused something that fits, so a way out is used up.
    is_forced: bool,
    /// Files in hand are to be read again.
    reads_files: bool,
    /// Words are numbered, so that no two are alike.
    number: usize,
    seen: Seen,
}

/// What came up, so that a test can say that something did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) levels: [usize; 5],
    pub(crate) requests: usize,
    pub(crate) summaries: usize,
    pub(crate) cuts: usize,
    /// Requests over the limit, which the provider refused.
    pub(crate) refused: usize,
    pub(crate) blocked: usize,
    pub(crate) too_long: usize,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        for (sum, times) in self.levels.iter_mut().zip(other.levels) {
            *sum += times;
        }
        self.requests += other.requests;
        self.summaries += other.summaries;
        self.cuts += other.cuts;
        self.refused += other.refused;
        self.blocked += other.blocked;
        self.too_long += other.too_long;
    }
}

/// Raw estimate of the words of a cut: ten earlier requests of 200 bytes, and what is said of them.
const CUT_MAX: u64 = 1_100;

type Checked = Result<(), String>;

/// Summaries and refusals after which a run must be over: compacted, drained, compacted, and nothing
/// else is left.
const ROUNDS_MAX: usize = 8;

impl World {
    pub(crate) fn new(script: &Script) -> Self {
        Self {
            session: ManualSession::new(script.settings.clone()),
            rate: script.rate,
            originals: BTreeMap::new(),
            forms: BTreeMap::new(),
            before: None,
            carried: Vec::new(),
            reads_files: false,
            is_forced: false,
            number: 0,
            seen: Seen::default(),
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    pub(crate) fn play(&mut self, step: &Step) -> Checked {
        match step {
            Step::Says { bytes, pinned, image } => {
                let mut content = vec![ContentBlock::Text(self.words("please", *bytes))];
                content.extend(image.then(|| ContentBlock::Media(media())));
                let event = Event::UserSubmitted { content, pinned: *pinned };
                self.take(event, GOOD)
            }
            Step::Turn { says, results, summary } => self.turn(*says, results, *summary),
            Step::Ends { bytes } => {
                if self.session.request.is_none() {
                    return Ok(());
                }
                let text = self.session.text_event(self.number_words("done", *bytes));
                self.take(text, GOOD)?;
                let end = self.end();
                self.take(end, GOOD)
            }
            Step::TooLong { summary } => self.fail(FailureKind::PromptTooLong, *summary),
            Step::MediaTooLarge { summary } => self.fail(FailureKind::MediaTooLarge, *summary),
            Step::Compact { summary } => {
                self.take(Event::CompactionAsked { focus: None }, *summary)
            }
        }
    }

    fn turn(&mut self, says: usize, results: &[Answer], summary: Summary) -> Checked {
        if self.session.request.is_none() {
            return Ok(());
        }
        let text = self.session.text_event(self.number_words("I look", says));
        self.take(text, GOOD)?;
        for _ in results {
            self.number += 1;
            let call = self.session.call_event("Read", &format!("{{\"n\":{}}}", self.number));
            self.take(call, GOOD)?;
        }
        let end = self.end();
        self.take(end, GOOD)?;
        self.is_forced = false;
        for answer in results {
            let Some(ticket) = self.session.tools.pop_front() else { break };
            let outcome = self.outcome(answer);
            self.take(Event::ToolEnded { ticket, outcome }, summary)?;
        }
        Ok(())
    }

    fn outcome(&mut self, answer: &Answer) -> ToolOutcome {
        let mut outcome = ToolOutcome::from_text(self.words("found", answer.bytes));
        outcome.content.extend(answer.image.then(|| ToolResultPart::Media(media())));
        let tasks = answer.tasks.map(|bytes| Arc::from(self.words("task", bytes + 1)));
        let directory = answer.directory.then(|| Arc::from(format!("/w/{}", self.number)));
        let file = answer.file.then(|| Arc::from(format!("/w/{}.rs", self.number)));
        outcome.files.extend(file);
        if tasks.is_some() || directory.is_some() {
            // What is carried over changes with this; what the next compaction does is checked then.
            self.carried.clear();
            outcome.update =
                Some(ContextUpdate { tasks, working_directory: directory, ..Default::default() });
        }
        outcome
    }

    fn fail(&mut self, kind: FailureKind, summary: Summary) -> Checked {
        let Some(request) = self.session.request.take() else { return Ok(()) };
        self.is_forced = true;
        let failure = ModelFailure::new(kind, "no");
        self.take(Event::ModelFailed { attempt: request.attempt, failure }, summary)
    }

    /// The end of an answer, billed as the provider counts.
    fn end(&self) -> Event {
        let raw = self.session.request.as_deref().map_or(0, |request| self.raw(request));
        self.session.end_event(raw * self.rate / 100)
    }

    /// One event, and then whatever preparation needs until a request that fits is out or the run is
    /// over: summaries come, and what does not fit is refused.
    fn take(&mut self, event: Event, summary: Summary) -> Checked {
        let mut effects = self.step(event)?;
        let mut rounds = 0;
        while rounds < ROUNDS_MAX {
            // Input that was waiting begins a run of its own.
            rounds = if self.session.ending.is_some() { 0 } else { rounds + 1 };
            if self.session.summary.is_some() {
                effects = self.summarize(summary)?;
                continue;
            }
            let room = Room::new(&self.session.settings, self.session.state().control.model);
            match (find_estimate(&effects), self.session.request.take()) {
                (Some(tokens), Some(request)) if tokens > room.limit => {
                    self.seen.refused += 1;
                    let failure = ModelFailure::new(FailureKind::PromptTooLong, "it does not fit");
                    effects =
                        self.step(Event::ModelFailed { attempt: request.attempt, failure })?;
                }
                (_, request) => {
                    self.session.request = request;
                    return Ok(());
                }
            }
        }
        Err("preparation does not come to its end".to_owned())
    }

    fn summarize(&mut self, summary: Summary) -> Result<Vec<Effect>, String> {
        let Some((ticket, request)) = self.session.summary.take() else { return Ok(Vec::new()) };
        // The last message is the order to summarise.
        let held: Vec<&Arc<Message>> = request.messages.iter().collect();
        let held = &held[..held.len() - 1];
        let raw: u64 = held.iter().map(|message| estimate::message(message)).sum();
        let next = self.session.state().transcript.next_id();
        if let Some(bytes) = summary.files.filter(|_| self.reads_files) {
            let text = self.words("as it is now", bytes);
            let kind = AttachmentKind::FilesInHand;
            self.step(Event::AttachmentArrived { kind, text })?;
        }
        self.reads_files = false;
        self.before = Some((raw, next));
        let result = match summary.manner {
            Manner::Good => Ok(self.words("They worked", 100)),
            Manner::TooLong => Ok(self.words("They worked", 80_000)),
            Manner::Empty => Ok("  \n".to_owned()),
            Manner::Fails => Err(ModelFailure::new(FailureKind::ServerFault, "broken")),
            Manner::NeverShorter => {
                let words: usize = held.iter().map(|message| message.text().len()).sum();
                Ok(self.words("They worked", words))
            }
            Manner::Lies => Ok("Working directories: /nowhere\n\nTask list: none".to_owned()),
        };
        let effects = self.step(Event::SummaryEnded { ticket, result, usage: Usage::default() })?;
        Ok(effects)
    }

    /// One event, and everything that must be true of what comes of it.
    fn step(&mut self, event: Event) -> Result<Vec<Effect>, String> {
        self.session.ending = None;
        let open: Vec<(ToolCallId, Vec<ToolResultPart>)> = match &event {
            Event::ToolEnded { outcome, .. } => vec![(self.next_result(), outcome.content.clone())],
            _ => Vec::new(),
        };
        self.originals.extend(open);
        let request = self.session.request.take();
        let attempt = request.as_ref().map(|request| request.attempt);
        self.session.request = request;
        let effects = self.session.apply_event(event);
        let mut is_compacted = false;
        for effect in &effects {
            self.reads_files |=
                matches!(effect, Effect::Prefetch { kind: AttachmentKind::FilesInHand, .. });
            if let Effect::Tell(Notice::ContextShrunk { level, losses, .. }) = effect {
                self.seen.levels[usize::from(*level) - 1] += 1;
                is_compacted |= *level == 5;
                if *level == 5 && losses.is_empty() {
                    return Err("a compaction without a loss record".to_owned());
                }
            }
        }
        if is_compacted {
            self.compacted()?;
        }
        let is_new = self.session.request.as_ref().map(|request| request.attempt) != attempt;
        if let Some(request) = self.session.request.take() {
            let checked = if is_new { self.check(&request) } else { Ok(()) };
            self.session.request = Some(request);
            checked?;
        }
        self.check_ending()?;
        Ok(effects)
    }

    /// The call whose result comes next: results are given in the order of calls.
    fn next_result(&self) -> ToolCallId {
        let queue = &self.session.state().queue;
        let done = queue.entries.iter().filter(|e| self.originals.contains_key(&e.call.id)).count();
        queue.entries[done].call.id.clone()
    }

    fn compacted(&mut self) -> Checked {
        let context = &self.session.state().tool_context;
        self.carried = context.tasks.iter().chain(&context.working_directory).cloned().collect();
        let summary = self
            .session
            .state()
            .transcript
            .messages()
            .rfind(|m| m.origin == MessageOrigin::Summary);
        let words = summary.map(|message| message.text()).unwrap_or_default();
        match words.contains("To make room,") {
            true => self.seen.cuts += 1,
            false => self.seen.summaries += 1,
        }
        Ok(())
    }

    fn check_ending(&mut self) -> Checked {
        let Some(ending) = self.session.ending.clone() else { return Ok(()) };
        let is_stuck = matches!(ending.terminal, Terminal::BlockingLimit | Terminal::PromptTooLong)
            && !ending.why.contains("as fast as it is emptied");
        if is_stuck && self.has_way_out() {
            return Err(format!("{:?}, but what must be kept would fit", ending.terminal));
        }
        self.is_forced = false;
        match ending.terminal {
            Terminal::BlockingLimit => self.seen.blocked += 1,
            Terminal::PromptTooLong => self.seen.too_long += 1,
            Terminal::Completed | Terminal::ImageError => {}
            // Only the calls of this test can go in circles, and none does.
            other => return Err(format!("the run ended with {other:?}: {}", ending.why)),
        }
        match ending.terminal.is_error() && ending.why.trim().is_empty() {
            true => Err(format!("{:?} without a reason", ending.terminal)),
            false => Ok(()),
        }
    }

    /// What must be kept fits, with the words of a cut, and a compaction could be had.
    fn has_way_out(&self) -> bool {
        let (state, settings) = (self.session.state(), &self.session.settings);
        let is_auto = settings.limits.auto_compact
            && state.control.auto_compact.failures < settings.limits.summary_failures_max;
        // Input that was waiting has begun the next run: what the last one was about is gone.
        let is_over = !state.control.phase.is_running();
        if !is_over || self.is_forced || !is_auto && !settings.limits.reactive_compact {
            return false;
        }
        let requests =
            [MessageOrigin::User, MessageOrigin::Attachment(AttachmentKind::QueuedInput)];
        let last = state.transcript.messages().rfind(|message| requests.contains(&message.origin));
        let kept = state.transcript.messages().filter(|message| {
            message.pinned || message.origin == MessageOrigin::Meta(MetaKind::Context)
        });
        let kept = kept.chain(last.filter(|last| !last.pinned));
        let kept: u64 = kept.map(|message| estimate::message(message)).sum();
        let carried: u64 = self.carried_now().map(|words| estimate::text(words)).sum();
        let system =
            estimate::text(&settings.prompt.system_prompt) + estimate::tools(&settings.tools);
        let room = Room::new(settings, state.control.model);
        state.ledger.estimate(system + kept + carried + CUT_MAX) <= room.limit
    }

    fn carried_now(&self) -> impl Iterator<Item = &Arc<str>> {
        let context = &self.session.state().tool_context;
        context.tasks.iter().chain(&context.working_directory)
    }

    fn raw(&self, request: &ModelRequest) -> u64 {
        let system: u64 = request.system.iter().map(|piece| estimate::text(piece)).sum();
        let messages = request.messages.iter().map(|message| estimate::message(message));
        system + estimate::tools(&request.tools) + messages.sum::<u64>()
    }

    fn check(&mut self, request: &ModelRequest) -> Checked {
        self.seen.requests += 1;
        self.is_no_larger(request)?;
        let transcript = &self.session.state().transcript;
        let requests =
            [MessageOrigin::User, MessageOrigin::Attachment(AttachmentKind::QueuedInput)];
        let last = transcript.messages().rfind(|message| requests.contains(&message.origin));
        for kept in transcript.messages().filter(|message| message.pinned).chain(last) {
            let sent = request.messages.iter().filter(|message| message.id == kept.id);
            let is_same = |sent: &Arc<Message>| texts(sent).take(1).eq(texts(kept).take(1));
            if sent.filter(|sent| is_same(sent)).count() != 1 {
                return Err(format!("message {} is not sent word for word, once", kept.id));
            }
        }
        let words: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
        for carried in &self.carried {
            if !words.iter().any(|words| words.contains(&**carried)) {
                return Err(format!("{carried:?} was not carried over"));
            }
        }
        for result in request.messages.iter().flat_map(|message| message.tool_results()) {
            let forms = self.forms.entry(result.call.clone()).or_default();
            if forms.last() == Some(&result.content) {
                continue;
            }
            if forms.contains(&result.content) {
                return Err(format!("the result of {} came back in an older form", result.call));
            }
            let original = &self.originals[&result.call];
            let shorter = forms.last().unwrap_or(original);
            if &result.content != original && bytes(&result.content) > bytes(shorter) {
                return Err(format!(
                    "the result of {} grew from {} to {} bytes",
                    result.call,
                    bytes(shorter),
                    bytes(&result.content)
                ));
            }
            forms.push(result.content.clone());
            // As it was or as level 1 cut it; then by level 3; and once without its media.
            if forms.len() > 3 {
                return Err(format!(
                    "the result of {} was sent in {} forms",
                    result.call,
                    forms.len()
                ));
            }
        }
        Ok(())
    }

    /// After a compaction nothing is larger than before but for what has come since.
    fn is_no_larger(&mut self, request: &ModelRequest) -> Checked {
        let Some((before, next)) = self.before.take() else { return Ok(()) };
        let is_since = |message: &&Arc<Message>| {
            let own =
                [MessageOrigin::Summary, MessageOrigin::Attachment(AttachmentKind::FilesInHand)];
            message.id < next || own.contains(&message.origin)
        };
        let now: u64 = request.messages.iter().filter(is_since).map(|m| estimate::message(m)).sum();
        match now > before {
            true => Err(format!("a compaction made {now} of {before}")),
            false => Ok(()),
        }
    }

    /// Every result is still in the transcript as it came.
    pub(crate) fn originals_are_kept(&self) -> Checked {
        let entries = self.session.state().transcript.messages();
        let kept: BTreeMap<&ToolCallId, &Vec<ToolResultPart>> = entries
            .flat_map(|message| message.tool_results().collect::<Vec<_>>())
            .map(|result| (&result.call, &result.content))
            .collect();
        let open = &self.session.state().queue.entries;
        for (call, original) in &self.originals {
            let is_open = open.iter().any(|entry| &entry.call.id == call);
            if !is_open && kept.get(call) != Some(&original) {
                return Err(format!("the result of {call} is no longer what it was"));
            }
        }
        Ok(())
    }

    fn words(&mut self, what: &str, bytes: usize) -> String {
        self.number += 1;
        self.number_words(what, bytes)
    }

    fn number_words(&self, what: &str, bytes: usize) -> String {
        let mut words = format!("{what} {}", self.number);
        while words.len() < bytes {
            words.push_str(" and so on, with 3 more");
        }
        words
    }
}

const GOOD: Summary = Summary { manner: Manner::Good, files: None };

fn texts(message: &Message) -> impl Iterator<Item = &String> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    })
}

fn bytes(content: &[ToolResultPart]) -> usize {
    content.iter().map(ToolResultPart::bytes).sum()
}

fn media() -> MediaContent {
    MediaContent {
        media_type: "image/png".into(),
        data: "QUJD".repeat(30).into(),
        name: "a.png".into(),
    }
}
