//! The one task that hears everything and waits for nothing.
//!
//! Reading order: this page (what is heard), `taking` (a prompt begins), `telling` (a run goes on and
//! ends), `ending` (how a prompt ends), `waking` (what goes on by itself), `serving` (what the client
//! asks), `asking` (what the client is asked), `keeping` (what others change).

mod after;
mod asking;
mod ending;
mod keeping;
mod put_off;
mod serving;
mod taking;
mod telling;
mod waking;

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windlass_driver::{Interrupt, Session};
use windlass_vocabulary::{Block, Notice};

pub(super) use ending::{refused, seen};
pub(super) use taking::waiting;

use put_off::PutOff;

use super::account::Account;
use super::asks::{Asks, Port, Question};
use super::frame::{Frame, Prompt, Stamped};
use super::initialize::Wishes;
use super::inside::Ears;
use super::pipe::Pipe;
use super::reader::Heard;
use super::stage::Stage;
use super::state::Told;
use super::verdict::Turn;
use crate::args::RunArgs;
use crate::chance;
use crate::command::Order;
use crate::compose::Plan;
use crate::exit::Exit;
use crate::front::output::{Output, Target};
use crate::front::print::Printer;
use crate::front::progress::Progress;
use crate::front::{at, interrupt, unless_signalled};
use crate::refusal::Refusal;
use crate::schema::Schema;
use crate::signals::{Caught, Signals};

/// Serves one client.
pub(crate) struct Desk {
    pub(super) args: RunArgs,
    pub(super) pipe: Pipe,
    /// Prints the end, if that is all that is wanted.
    pub(super) printer: Option<Printer>,
    /// Tells what happens on the way, for those who look for a mistake.
    pub(super) diary: Option<Progress>,
    lines: mpsc::Receiver<Heard>,
    /// A line that was read before the desk stood.
    early: Option<Heard>,
    signals: Signals,
    questions: mpsc::Receiver<Question>,
    pub(super) port: Port,
    pub(super) asks: Asks,
    pub(super) told: Told,
    /// What the client wished for.
    pub(super) wishes: Wishes,
    /// What the answer must fit, as the command line says.
    pub(super) schema: Option<Schema>,
    /// The session before it starts …
    pub(super) plan: Option<Plan>,
    /// Rings when the servers inside the client are there.
    settling: Option<oneshot::Receiver<()>>,
    /// Settings files are being read again.
    keeping: Option<keeping::Looking>,
    are_inside_asked: bool,
    pub(super) ears: Ears,
    /// Servers the client asked for on the way.
    pub(super) dynamic: Vec<String>,
    /// Requests that are worked on beside the desk.
    serving: usize,
    /// Who waits for the answer to a question beside the conversation.
    pub(super) aside: Option<oneshot::Sender<Result<String, String>>>,
    /// Requests that wait for the session.
    parked: Vec<(String, Value)>,
    /// What the first prompt asks for, if that is known already.
    first: Option<Order>,
    /// … and after.
    pub(super) stage: Option<Stage>,
    /// What was said without asking; goes with the next prompt.
    pub(super) held: Vec<Block>,
    /// What went on by itself and woke the model at its end.
    woken: BTreeSet<String>,
    /// Prompts that wait.
    pub(super) queue: VecDeque<Prompt>,
    /// The prompt that is worked on.
    pub(super) turn: Option<Turn>,
    pub(super) account: Account,
    /// A call of an earlier process that was put off, until it is looked at again.
    pub(super) put_off: PutOff,
    /// Results sent.
    results: u64,
    /// The last result was an error.
    has_failed: bool,
    /// There will be no more lines.
    is_input_over: bool,
    /// There will be no more prompts, though what we ask is answered: we end by ourselves.
    is_last_said: bool,
    /// A sign of life after this long a silence.
    beat_every: Duration,
    /// How long what goes on by itself is waited for after that.
    tasks_until: Option<Instant>,
    /// A signal came, and until when things may take.
    caught: Option<(Caught, Instant)>,
    /// The session is gone for good, and why.
    broken: Option<String>,
}

/// Something the desk heard.
enum Event {
    Signal(Caught),
    Late(Caught),
    Heard(Heard),
    Question(Question),
    Overdue,
    Beat,
    Moved,
    Told(Option<Notice>),
    Settled,
    /// Settings files were read again.
    Looked(Option<Box<keeping::Looked>>),
    /// Something in the background ended.
    TaskEnded,
}

impl Desk {
    /// A desk for this plan.
    pub(crate) fn new(
        args: RunArgs,
        plan: Plan,
        first: Option<Order>,
        lines: mpsc::Receiver<Heard>,
        signals: Signals,
    ) -> Self {
        let (port, questions) = Port::new();
        // One prompt that is known already settles it by itself.
        let put_off = PutOff::new(plan.is_put_off && first.is_none());
        let is_debugged = args.headless.debug.is_some() && args.headless.debug_file.is_none();
        let printer = Printer::new(args.output_format, args.verbose || is_debugged);
        let diary = (printer.is_none() && is_debugged).then(|| Progress::new(true));
        let pipe = if printer.is_some() { Pipe::silent() } else { Pipe::start() };
        Self {
            args,
            pipe,
            printer,
            diary,
            lines,
            early: None,
            signals,
            questions,
            port,
            asks: Asks::default(),
            told: Told::new(|name| std::env::var_os(name)),
            schema: None,
            wishes: Wishes::default(),
            plan: Some(plan),
            settling: None,
            keeping: None,
            are_inside_asked: false,
            ears: Ears::default(),
            dynamic: Vec::new(),
            serving: 0,
            aside: None,
            parked: Vec::new(),
            first,
            stage: None,
            held: Vec::new(),
            woken: BTreeSet::new(),
            queue: VecDeque::new(),
            turn: None,
            account: Account::default(),
            put_off,
            results: 0,
            has_failed: false,
            is_input_over: false,
            is_last_said: false,
            beat_every: millis("WINDLASS_KEEP_ALIVE_MS").unwrap_or(BEAT_EVERY),
            tasks_until: None,
            caught: None,
            broken: None,
        }
    }

    /// Tells everything into this file.
    pub(crate) fn with_diary(mut self, file: Option<File>) -> Self {
        self.diary = file.map(Progress::into_file).or(self.diary);
        self
    }

    /// What was read before the desk stood.
    pub(crate) fn with_early(mut self, early: Option<Heard>) -> Self {
        self.early = early;
        self
    }

    /// Answers must fit this.
    pub(crate) fn with_schema(mut self, schema: Option<Schema>) -> Self {
        self.schema = schema;
        self
    }

    /// Serves until input and work are over, or somebody wants us gone.
    pub(crate) async fn serve(mut self) -> Result<Exit, Refusal> {
        let exit = loop {
            self.wake_for_ended();
            self.take_next().await;
            if let Some(exit) = self.over() {
                break exit;
            }
            match self.next().await {
                Event::Signal(signal) => {
                    if !self.signalled(signal) {
                        break signal.exit();
                    }
                }
                Event::Late(signal) => break signal.exit(),
                Event::Heard(Heard::Line(line)) => self.heard(line).await,
                Event::Heard(Heard::Nonsense(number, problem)) => complain(number, &problem).await,
                Event::Heard(Heard::End) => self.input_over(),
                Event::Question(question) => self.question(question),
                Event::Overdue => self.overdue(),
                Event::Beat if self.pipe.is_empty() => self.pipe.put(&Frame::KeepAlive),
                Event::Beat => {}
                Event::Moved => {}
                Event::Told(Some(notice)) => self.notice(&notice).await,
                Event::Told(None) => self.session_gone(),
                Event::Settled => self.settled().await,
                Event::Looked(looked) => self.kept_up(looked),
                Event::TaskEnded => {
                    self.look_behind();
                    self.wake_for_ended();
                    self.rest();
                }
            }
        };
        let exit = match self.printer.take() {
            // Who wants us gone at once wants nothing more to read.
            Some(printer) if !self.signals.are_urgent() => {
                let caught = self.caught.map(|(signal, _)| signal);
                printer.close(caught, &mut self.signals).await
            }
            _ => exit,
        };
        if let Some(diary) = &mut self.diary {
            let _ = unless_signalled(&mut self.signals, diary.finish()).await;
        }
        self.finish().await;
        Ok(exit)
    }

    async fn next(&mut self) -> Event {
        if let Some(early) = self.early.take() {
            return Event::Heard(early);
        }
        // While lines wait for their reader there is nothing to add, but it is looked at again.
        let silent_since = if self.pipe.is_empty() { self.pipe.last } else { Instant::now() };
        let beat = silent_since + self.beat_every;
        let late = self.caught;
        let given_up = self.tasks_until.filter(|_| self.turn.is_none());
        let has_room = self.pipe.has_room();
        let behind = self.stage.as_ref().map(|stage| stage.session.clone());
        let behind = behind.zip(self.ended_so_far());
        let told = async {
            match &mut self.stage {
                Some(stage) if has_room => stage.next().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            signal = self.signals.next() => Event::Signal(signal),
            caught = async { at(late.map(|(_, until)| until)).await; late }, if late.is_some() => {
                caught.map_or(Event::Beat, |(signal, _)| Event::Late(signal))
            }
            line = self.lines.recv(), if !self.is_input_over => {
                Event::Heard(line.unwrap_or(Heard::End))
            }
            Some(question) = self.questions.recv() => Event::Question(question),
            () = at(given_up) => Event::Moved,
            () = at(self.put_off.coming()) => Event::Moved,
            () = at(self.asks.next_deadline()) => Event::Overdue,
            () = self.pipe.moved() => Event::Moved,
            () = at(Some(beat)) => Event::Beat,
            notice = told => Event::Told(notice),
            () = serving::settled(&mut self.settling) => Event::Settled,
            looked = keeping::looked(&mut self.keeping) => Event::Looked(looked),
            () = ended(behind) => Event::TaskEnded,
        }
    }

    /// Is there nothing left to do?
    fn over(&self) -> Option<Exit> {
        if self.pipe.is_closed() {
            // Nobody reads; the run is ended with the session.
            return Some(Exit::DONE);
        }
        if self.turn.is_some() {
            return None;
        }
        if let Some((signal, _)) = self.caught {
            return Some(signal.exit());
        }
        let is_served = self.parked.is_empty() && self.serving == 0;
        let is_idle = self.queue.is_empty() && is_served && !self.is_awaiting_tasks();
        let is_idle = is_idle && !self.put_off.is_due();
        let is_done = self.hears_no_prompts() && is_idle || self.broken.is_some();
        let exit = if self.has_failed { Exit::FAILED } else { Exit::DONE };
        is_done.then_some(exit)
    }

    /// Will there be no more prompts?
    fn hears_no_prompts(&self) -> bool {
        self.is_input_over || self.is_last_said
    }

    /// Does something go on by itself that is worth waiting for?
    fn is_awaiting_tasks(&self) -> bool {
        self.are_agents_left() && self.tasks_until.is_none_or(|until| Instant::now() < until)
    }

    /// The first signal ends the run, a second one everything. Says whether to go on.
    fn signalled(&mut self, signal: Caught) -> bool {
        if self.caught.is_some() {
            return false;
        }
        self.caught = Some((signal, Instant::now() + ENDING_MAX));
        self.queue.clear();
        match &self.stage {
            Some(stage) if self.turn.is_some() => {
                stage.session.interrupt(interrupt(signal)).is_ok()
            }
            _ => true,
        }
    }

    /// Nobody will answer what is asked from now on.
    fn input_over(&mut self) {
        self.is_input_over = true;
        self.wait_for_tasks();
        self.nobody_answers();
    }

    /// The last prompt was sent. What we ask is still answered.
    pub(in crate::front::stream_json) fn last_said(&mut self) {
        self.is_last_said = true;
        self.wait_for_tasks();
    }

    /// What goes on by itself is waited for so long from here, if nothing else is to come.
    fn wait_for_tasks(&mut self) {
        if self.hears_no_prompts() {
            self.put_off.nobody_speaks();
            self.tasks_until = tasks_wait().map(|wait| Instant::now() + wait);
        }
    }

    /// Sends a frame of the conversation.
    pub(super) fn put(&mut self, frame: Frame) {
        let session_id = self.session_id();
        self.put_as(frame, session_id, chance::uuid());
    }

    pub(super) fn put_as(&mut self, frame: Frame, session_id: String, uuid: String) {
        self.pipe.put(&Stamped { frame, uuid, session_id });
    }

    /// The name of the session.
    pub(super) fn session_id(&self) -> String {
        let planned = || self.plan.as_ref().map(|plan| plan.session_id.clone());
        let on_stage = self.stage.as_ref().map(|stage| stage.id.clone());
        on_stage.or_else(planned).unwrap_or_default()
    }

    /// Tells the state, if somebody wants to know.
    pub(super) fn state(&mut self, state: &'static str) {
        if let Some(frame) = self.told.is(state) {
            self.put(frame);
        }
    }

    /// Sends what was written into transcripts, if that is wanted.
    pub(super) fn tell_lines(&mut self) {
        let frames = self.stage.as_ref().map(|stage| stage.mirror.frames());
        frames.into_iter().flatten().for_each(|frame| self.put(frame));
    }

    async fn finish(&mut self) {
        self.drain().await;
        if let Some(stage) = self.stage.take()
            && !self.signals.are_urgent()
        {
            // What is still going on must not outlive us.
            let _ = stage.session.interrupt(Interrupt::Shutdown);
            self.close(stage).await;
        }
        if !self.pipe.is_closed() {
            // However slow the reader is, it gets everything, unless somebody wants us to stop.
            tokio::select! {
                _ = self.signals.next() => {}
                () = self.pipe.finish() => {}
            }
        }
    }
}

async fn ended(behind: Option<(Session, usize)>) {
    match behind {
        Some((session, known)) => session.background_ended(known).await,
        None => std::future::pending().await,
    }
}

/// A line that means nothing is named; the next one may be better.
async fn complain(number: u64, problem: &str) {
    let mut output = Output::new(Target::Stderr);
    let line = Refusal::failed(format!(
        "line {number} of standard input is left out: {problem}; write one JSON object a line"
    ));
    let _ = output.write(format!("{line}\n"));
    let _ = output.finish().await;
}

/// How long sessions that go on by themselves are waited for; `None` means as long as they take.
fn tasks_wait() -> Option<Duration> {
    let given = millis("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(TASKS_MAX);
    Some(given).filter(|wait| !wait.is_zero())
}

/// A time that the environment gives.
fn millis(name: &str) -> Option<Duration> {
    std::env::var(name).ok()?.parse().ok().map(Duration::from_millis)
}

/// How long sessions that go on by themselves are waited for.
const TASKS_MAX: Duration = Duration::from_secs(600);
/// A sign of life after this long a silence.
const BEAT_EVERY: Duration = Duration::from_secs(15);
/// How long a run may take to end after a signal.
const ENDING_MAX: Duration = Duration::from_secs(5);
