//! The one task that hears everything and waits for nothing.
//!
//! Reading order: this page (what is heard), `taking` (a prompt begins), `telling` (a run goes on and
//! ends), `ending` (how a prompt ends), `waking` (what goes on by itself), `serving` (what the client
//! asks), `asking` (what the client is asked), `keeping` (what others change).

mod background_wakeup;
mod control_requests;
mod deferred_call;
mod notices;
mod permission_prompts;
mod prompt_queue;
mod prompt_result;
mod settings_reload;
mod shutdown;

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windlass_driver::{Interrupt, Session};
use windlass_vocabulary::{ContentBlock, Notice};

pub(super) use prompt_queue::queued_prompt_ids;
pub(super) use prompt_result::{print_session_report, report_start_failure};

use deferred_call::DeferredCallState;

use super::client_mcp_servers::ClientServerInboxes;
use super::client_requests::{ClientChannel, ClientChannelEvent, PendingClientRequests};
use super::frame::{ConversationFrame, OutgoingFrame, PromptFrame};
use super::frame_writer::FrameWriter;
use super::initialize::InitializeOptions;
use super::input_reader::InputLine;
use super::live_session::LiveSession;
use super::prompt_turn::PromptTurn;
use super::session_state::SessionStateReporter;
use super::usage_totals::UsageTotals;
use crate::json_schema::CheckedSchema;
use crate::output_writer::{OutputTarget, OutputWriter};
use crate::print::Printer;
use crate::progress_log::ProgressLog;
use windlass_assembly::options::RunOptions;
use windlass_assembly::session_close::signal_to_interrupt;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::slash_command::SlashCommand;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::{ExitSignal, SignalListener};
use windlass_host::signals::{await_unless_signalled, sleep_until_or_forever};

/// Serves one client.
pub(crate) struct EventLoop {
    pub(super) args: RunOptions,
    pub(super) frame_writer: FrameWriter,
    /// Prints the end, if that is all that is wanted.
    pub(super) printer: Option<Printer>,
    /// Tells what happens on the way, for those who look for a mistake.
    pub(super) debug_log: Option<ProgressLog>,
    input: mpsc::Receiver<InputLine>,
    /// A line that was read before the desk stood.
    early_line: Option<InputLine>,
    signals: SignalListener,
    channel_events: mpsc::Receiver<ClientChannelEvent>,
    pub(super) client_channel: ClientChannel,
    pub(super) pending_requests: PendingClientRequests,
    pub(super) state_reporter: SessionStateReporter,
    /// What the client wished for.
    pub(super) initialize_options: InitializeOptions,
    /// What the answer must fit, as the command line says.
    pub(super) schema: Option<CheckedSchema>,
    /// The session before it starts …
    pub(super) plan: Option<SessionPlan>,
    /// Rings when the servers inside the client are there.
    client_servers_ready: Option<oneshot::Receiver<()>>,
    /// Settings files are being read again.
    settings_reload: Option<settings_reload::SettingsReloadReceiver>,
    are_client_servers_connected: bool,
    pub(super) client_server_inboxes: ClientServerInboxes,
    /// Servers the client asked for on the way.
    pub(super) dynamic_servers: Vec<String>,
    /// Requests that are worked on beside the desk.
    requests_in_progress: usize,
    /// Who waits for the answer to a question beside the conversation.
    pub(super) side_question: Option<oneshot::Sender<Result<String, String>>>,
    /// Requests that wait for the session.
    parked_requests: Vec<(String, Value)>,
    /// What the first prompt asks for, if that is known already.
    first_prompt: Option<SlashCommand>,
    /// … and after.
    pub(super) live_session: Option<LiveSession>,
    /// What was said without asking; goes with the next prompt.
    pub(super) unsent_blocks: Vec<ContentBlock>,
    /// What went on by itself and woke the model at its end.
    notified_tasks: BTreeSet<String>,
    /// Prompts that wait.
    pub(super) prompt_queue: VecDeque<PromptFrame>,
    /// The prompt that is worked on.
    pub(super) turn: Option<PromptTurn>,
    pub(super) usage_totals: UsageTotals,
    /// A call of an earlier process that was put off, until it is looked at again.
    pub(super) deferred_call: DeferredCallState,
    /// Results sent.
    results_sent: u64,
    /// The last result was an error.
    has_failed: bool,
    /// There will be no more lines.
    is_input_over: bool,
    /// There will be no more prompts, though what we ask is answered: we end by ourselves.
    is_last_prompt_sent: bool,
    /// A sign of life after this long a silence.
    keep_alive_interval: Duration,
    /// How long what goes on by itself is waited for after that.
    background_deadline: Option<Instant>,
    /// A signal came, and until when things may take.
    caught_signal: Option<(ExitSignal, Instant)>,
    /// The session is gone for good, and why.
    session_failure: Option<String>,
}

/// Something the desk heard.
enum LoopEvent {
    Signal(ExitSignal),
    SignalTimeout(ExitSignal),
    Input(InputLine),
    ClientChannel(ClientChannelEvent),
    RequestOverdue,
    KeepAlive,
    Wakeup,
    Notice(Option<Notice>),
    ClientServersReady,
    /// Settings files were read again.
    SettingsReloaded(Option<Box<settings_reload::ReloadedSettings>>),
    /// Something in the background ended.
    TaskEnded,
}

impl EventLoop {
    /// A desk for this plan.
    pub(crate) fn new(
        args: RunOptions,
        plan: SessionPlan,
        first_prompt: Option<SlashCommand>,
        input: mpsc::Receiver<InputLine>,
        signals: SignalListener,
    ) -> Self {
        let (client_channel, channel_events) = ClientChannel::new();
        // One prompt that is known already settles it by itself.
        let deferred_call =
            DeferredCallState::new(plan.has_deferred_call && first_prompt.is_none());
        let is_debugged = args.headless.debug.is_some() && args.headless.debug_file.is_none();
        let printer = Printer::new(args.output_format, args.verbose || is_debugged);
        let debug_log = (printer.is_none() && is_debugged).then(|| ProgressLog::new(true));
        let frame_writer =
            if printer.is_some() { FrameWriter::disabled() } else { FrameWriter::spawn() };
        Self {
            args,
            frame_writer,
            printer,
            debug_log,
            input,
            early_line: None,
            signals,
            channel_events,
            client_channel,
            pending_requests: PendingClientRequests::default(),
            state_reporter: SessionStateReporter::new(|name| std::env::var_os(name)),
            schema: None,
            initialize_options: InitializeOptions::default(),
            plan: Some(plan),
            client_servers_ready: None,
            settings_reload: None,
            are_client_servers_connected: false,
            client_server_inboxes: ClientServerInboxes::default(),
            dynamic_servers: Vec::new(),
            requests_in_progress: 0,
            side_question: None,
            parked_requests: Vec::new(),
            first_prompt,
            live_session: None,
            unsent_blocks: Vec::new(),
            notified_tasks: BTreeSet::new(),
            prompt_queue: VecDeque::new(),
            turn: None,
            usage_totals: UsageTotals::default(),
            deferred_call,
            results_sent: 0,
            has_failed: false,
            is_input_over: false,
            is_last_prompt_sent: false,
            keep_alive_interval: read_env_duration("WINDLASS_KEEP_ALIVE_MS")
                .unwrap_or(KEEP_ALIVE_INTERVAL),
            background_deadline: None,
            caught_signal: None,
            session_failure: None,
        }
    }

    /// Tells everything into this file.
    pub(crate) fn with_debug_log(mut self, file: Option<File>) -> Self {
        self.debug_log = file.map(ProgressLog::from_file).or(self.debug_log);
        self
    }

    /// What was read before the desk stood.
    pub(crate) fn with_early_line(mut self, early: Option<InputLine>) -> Self {
        self.early_line = early;
        self
    }

    /// Answers must fit this.
    pub(crate) fn with_schema(mut self, schema: Option<CheckedSchema>) -> Self {
        self.schema = schema;
        self
    }

    /// Serves until input and work are over, or somebody wants us gone.
    pub(crate) async fn run(mut self) -> Result<Exit, CommandError> {
        let exit = loop {
            self.queue_task_notifications();
            self.start_next_prompt().await;
            if let Some(exit) = self.exit_if_done() {
                break exit;
            }
            match self.next_event().await {
                LoopEvent::Signal(signal) => {
                    if !self.on_signal(signal) {
                        break signal.exit();
                    }
                }
                LoopEvent::SignalTimeout(signal) => break signal.exit(),
                LoopEvent::Input(InputLine::Frame(line)) => self.on_incoming_frame(line).await,
                LoopEvent::Input(InputLine::Invalid(number, problem)) => {
                    report_invalid_line(number, &problem).await;
                }
                LoopEvent::Input(InputLine::End) => self.on_input_end(),
                LoopEvent::ClientChannel(question) => self.on_channel_event(question),
                LoopEvent::RequestOverdue => self.expire_requests(),
                LoopEvent::KeepAlive if self.frame_writer.is_empty() => {
                    self.frame_writer.write_frame(&OutgoingFrame::KeepAlive);
                }
                LoopEvent::KeepAlive => {}
                LoopEvent::Wakeup => {}
                LoopEvent::Notice(Some(notice)) => self.on_notice(&notice).await,
                LoopEvent::Notice(None) => self.on_session_lost(),
                LoopEvent::ClientServersReady => self.on_client_servers_ready().await,
                LoopEvent::SettingsReloaded(looked) => self.on_settings_reloaded(looked),
                LoopEvent::TaskEnded => {
                    self.send_ended_commands();
                    self.queue_task_notifications();
                    self.send_idle_state();
                }
            }
        };
        let exit = match self.printer.take() {
            // Who wants us gone at once wants nothing more to read.
            Some(printer) if !self.signals.is_urgent() => {
                let caught = self.caught_signal.map(|(signal, _)| signal);
                printer.print_result(caught, &mut self.signals).await
            }
            _ => exit,
        };
        if let Some(diary) = &mut self.debug_log {
            let _ = await_unless_signalled(&mut self.signals, diary.finish()).await;
        }
        self.shut_down().await;
        Ok(exit)
    }

    async fn next_event(&mut self) -> LoopEvent {
        if let Some(early) = self.early_line.take() {
            return LoopEvent::Input(early);
        }
        // While lines wait for their reader there is nothing to add, but it is looked at again.
        let silent_since = if self.frame_writer.is_empty() {
            self.frame_writer.last_written
        } else {
            Instant::now()
        };
        let beat = silent_since + self.keep_alive_interval;
        let late = self.caught_signal;
        let given_up = self.background_deadline.filter(|_| self.turn.is_none());
        let has_room = self.frame_writer.has_room();
        let behind = self.live_session.as_ref().map(|stage| stage.session.clone());
        let behind = behind.zip(self.count_ended_tasks());
        let told = async {
            match &mut self.live_session {
                Some(stage) if has_room => stage.next_notice().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            signal = self.signals.next() => LoopEvent::Signal(signal),
            caught = async { sleep_until_or_forever(late.map(|(_, until)| until)).await; late }, if late.is_some() => {
                caught.map_or(LoopEvent::KeepAlive, |(signal, _)| LoopEvent::SignalTimeout(signal))
            }
            line = self.input.recv(), if !self.is_input_over => {
                LoopEvent::Input(line.unwrap_or(InputLine::End))
            }
            Some(question) = self.channel_events.recv() => LoopEvent::ClientChannel(question),
            () = sleep_until_or_forever(given_up) => LoopEvent::Wakeup,
            () = sleep_until_or_forever(self.deferred_call.next_due()) => LoopEvent::Wakeup,
            () = sleep_until_or_forever(self.pending_requests.next_deadline()) => LoopEvent::RequestOverdue,
            () = self.frame_writer.wait_for_room() => LoopEvent::Wakeup,
            () = sleep_until_or_forever(Some(beat)) => LoopEvent::KeepAlive,
            notice = told => LoopEvent::Notice(notice),
            () = control_requests::await_client_servers(&mut self.client_servers_ready) => LoopEvent::ClientServersReady,
            looked = settings_reload::await_settings_reload(&mut self.settings_reload) => LoopEvent::SettingsReloaded(looked),
            () = await_task_end(behind) => LoopEvent::TaskEnded,
        }
    }

    /// Is there nothing left to do?
    fn exit_if_done(&self) -> Option<Exit> {
        if self.frame_writer.is_closed() {
            // Nobody reads; the run is ended with the session.
            return Some(Exit::SUCCESS);
        }
        if self.turn.is_some() {
            return None;
        }
        if let Some((signal, _)) = self.caught_signal {
            return Some(signal.exit());
        }
        let is_served = self.parked_requests.is_empty() && self.requests_in_progress == 0;
        let is_idle = self.prompt_queue.is_empty() && is_served && !self.is_awaiting_tasks();
        let is_idle = is_idle && !self.deferred_call.is_due();
        let is_done = self.expects_no_prompts() && is_idle || self.session_failure.is_some();
        let exit = if self.has_failed { Exit::FAILURE } else { Exit::SUCCESS };
        is_done.then_some(exit)
    }

    /// Will there be no more prompts?
    fn expects_no_prompts(&self) -> bool {
        self.is_input_over || self.is_last_prompt_sent
    }

    /// Does something go on by itself that is worth waiting for?
    fn is_awaiting_tasks(&self) -> bool {
        self.has_running_agents()
            && self.background_deadline.is_none_or(|until| Instant::now() < until)
    }

    /// The first signal ends the run, a second one everything. Says whether to go on.
    fn on_signal(&mut self, signal: ExitSignal) -> bool {
        if self.caught_signal.is_some() {
            return false;
        }
        self.caught_signal = Some((signal, Instant::now() + SIGNAL_GRACE_MAX));
        self.prompt_queue.clear();
        match &self.live_session {
            Some(stage) if self.turn.is_some() => {
                stage.session.interrupt(signal_to_interrupt(signal)).is_ok()
            }
            _ => true,
        }
    }

    /// Nobody will answer what is asked from now on.
    fn on_input_end(&mut self) {
        self.is_input_over = true;
        self.start_background_deadline();
        self.fail_pending_requests();
    }

    /// The last prompt was sent. What we ask is still answered.
    pub(crate) fn on_last_prompt_sent(&mut self) {
        self.is_last_prompt_sent = true;
        self.start_background_deadline();
    }

    /// What goes on by itself is waited for so long from here, if nothing else is to come.
    fn start_background_deadline(&mut self) {
        if self.expects_no_prompts() {
            self.deferred_call.on_no_more_prompts();
            self.background_deadline = read_background_wait().map(|wait| Instant::now() + wait);
        }
    }

    /// Sends a frame of the conversation.
    pub(super) fn send_frame(&mut self, frame: OutgoingFrame) {
        let session_id = self.session_id();
        self.send_frame_as(frame, session_id, random::generate_uuid());
    }

    pub(super) fn send_frame_as(&mut self, frame: OutgoingFrame, session_id: String, uuid: String) {
        self.frame_writer.write_frame(&ConversationFrame { frame, uuid, session_id });
    }

    /// The name of the session.
    pub(super) fn session_id(&self) -> String {
        let planned = || self.plan.as_ref().map(|plan| plan.session_id.clone());
        let on_stage = self.live_session.as_ref().map(|stage| stage.id.clone());
        on_stage.or_else(planned).unwrap_or_default()
    }

    /// Tells the state, if somebody wants to know.
    pub(super) fn send_state(&mut self, state: &'static str) {
        if let Some(frame) = self.state_reporter.update(state) {
            self.send_frame(frame);
        }
    }

    /// Sends what was written into transcripts, if that is wanted.
    pub(super) fn send_transcript_lines(&mut self) {
        let frames = self.live_session.as_ref().map(|stage| stage.transcript_mirror.take_frames());
        frames.into_iter().flatten().for_each(|frame| self.send_frame(frame));
    }

    async fn shut_down(&mut self) {
        self.drain_session().await;
        if let Some(stage) = self.live_session.take()
            && !self.signals.is_urgent()
        {
            // What is still going on must not outlive us.
            let _ = stage.session.interrupt(Interrupt::Shutdown);
            self.close_session(stage).await;
        }
        if !self.frame_writer.is_closed() {
            // However slow the reader is, it gets everything, unless somebody wants us to stop.
            tokio::select! {
                _ = self.signals.next() => {}
                () = self.frame_writer.finish() => {}
            }
        }
    }
}

async fn await_task_end(behind: Option<(Session, usize)>) {
    match behind {
        Some((session, known)) => session.wait_for_background_end(known).await,
        None => std::future::pending().await,
    }
}

/// A line that means nothing is named; the next one may be better.
async fn report_invalid_line(number: u64, problem: &str) {
    let mut output = OutputWriter::new(OutputTarget::Stderr);
    let line = CommandError::failure(format!(
        "line {number} of standard input is left out: {problem}; write one JSON object a line"
    ));
    let _ = output.write(format!("{line}\n"));
    let _ = output.finish().await;
}

/// How long sessions that go on by themselves are waited for; `None` means as long as they take.
fn read_background_wait() -> Option<Duration> {
    let given =
        read_env_duration("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(BACKGROUND_WAIT_MAX);
    Some(given).filter(|wait| !wait.is_zero())
}

/// A time that the environment gives.
fn read_env_duration(name: &str) -> Option<Duration> {
    std::env::var(name).ok()?.parse().ok().map(Duration::from_millis)
}

/// How long sessions that go on by themselves are waited for.
const BACKGROUND_WAIT_MAX: Duration = Duration::from_secs(600);
/// A sign of life after this long a silence.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long a run may take to end after a signal.
const SIGNAL_GRACE_MAX: Duration = Duration::from_secs(5);
