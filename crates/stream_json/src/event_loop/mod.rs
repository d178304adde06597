//! The one task that receives all events and never blocks.
//!
//! Reading order: this file (the events), `prompt_queue` (starts a prompt), `notices` (during a
//! run), `prompt_result` (ends a prompt), `background_wakeup` (background tasks),
//! `control_requests` (requests of the client), `permission_prompts` (requests to the client),
//! `settings_reload` (changed settings files).

mod background_wakeup;
mod client_input;
mod client_output;
mod control_requests;
mod deferred_call;
mod notices;
mod permission_prompts;
mod prompt_queue;
mod prompt_result;
mod settings_reload;
mod shutdown;

use std::fs::File;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use windlass_driver::Session;

use client_input::ClientInput;
use client_output::ClientOutput;
use control_requests::{CompletedRequest, ControlRequests};
use deferred_call::DeferredCallState;
use prompt_queue::PromptQueue;
use settings_reload::ReloadedSettings;

use crate::client_mcp_servers::ClientServers;
use crate::client_requests::{ClientChannelEvent, ClientRequests};
use crate::frame::{ConversationFrame, OutgoingFrame};
use crate::initialize::InitializeOptions;
use crate::input_reader::InputLine;
use crate::json_schema::CheckedSchema;
use crate::prompt_turn::PromptTurn;
use crate::session_phase::{SessionEvent, SessionPhase};
use crate::session_state::SessionState;
use crate::usage_totals::UsageTotals;
use windlass_assembly::options::RunOptions;
use windlass_assembly::session_close::signal_to_interrupt;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::slash_command::SlashCommand;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::{ExitSignal, SignalListener};
use windlass_host::signals::{await_unless_signalled, sleep_until_or_forever};

pub(crate) use prompt_result::{print_session_report, report_start_failure};

pub(crate) struct EventLoop {
    pub(crate) args: RunOptions,
    input: ClientInput,
    output: ClientOutput,
    signals: SignalState,
    pub(crate) client: ClientRequests,
    pub(crate) control: ControlRequests,
    pub(crate) initialize_options: InitializeOptions,
    /// The schema of the answer from the command line.
    schema: Option<CheckedSchema>,
    pub(crate) client_servers: ClientServers,
    pub(crate) session: SessionPhase,
    /// Settings files are being read again.
    settings_reload: Option<settings_reload::SettingsReloadReceiver>,
    pub(crate) prompts: PromptQueue,
    /// The prompt that is worked on.
    pub(crate) turn: Option<PromptTurn>,
    pub(crate) usage_totals: UsageTotals,
    /// A call that an earlier process deferred.
    pub(crate) deferred_call: DeferredCallState,
}

/// What the event loop of a process begins with.
pub(crate) struct EventLoopOptions {
    pub args: RunOptions,
    pub plan: SessionPlan,
    /// The one prompt of the command line.
    pub first_prompt: Option<SlashCommand>,
    pub lines: mpsc::Receiver<InputLine>,
    /// A line that was read before.
    pub early_line: Option<InputLine>,
    pub signals: SignalListener,
    pub schema: Option<CheckedSchema>,
    pub debug_file: Option<File>,
}

struct SignalState {
    listener: SignalListener,
    caught: Option<CaughtSignal>,
}

#[derive(Clone, Copy)]
struct CaughtSignal {
    signal: ExitSignal,
    /// When the process ends, whether or not the run has.
    deadline: Instant,
}

enum LoopEvent {
    Signal(ExitSignal),
    SignalTimeout(ExitSignal),
    Input(InputLine),
    ClientChannel(ClientChannelEvent),
    RequestCompleted(CompletedRequest),
    RequestOverdue,
    KeepAlive,
    /// Something may be due now: the top of the loop looks.
    Wakeup,
    Session(SessionEvent),
    SettingsReloaded(Option<Box<ReloadedSettings>>),
    TaskEnded,
}

impl EventLoop {
    pub(crate) fn new(options: EventLoopOptions) -> Self {
        let EventLoopOptions { args, plan, first_prompt, lines, early_line, signals, .. } = options;
        // A prompt that is known already settles the call by itself.
        let deferred_call =
            DeferredCallState::new(plan.has_deferred_call && first_prompt.is_none());
        Self {
            input: ClientInput::new(lines, early_line),
            output: ClientOutput::new(&args, options.debug_file),
            args,
            signals: SignalState { listener: signals, caught: None },
            client: ClientRequests::new(),
            control: ControlRequests::default(),
            initialize_options: InitializeOptions::default(),
            schema: options.schema,
            client_servers: ClientServers::default(),
            session: SessionPhase::from_plan(plan),
            settings_reload: None,
            prompts: PromptQueue::new(first_prompt),
            turn: None,
            usage_totals: UsageTotals::default(),
            deferred_call,
        }
    }

    /// Serves until input and work are over, or a signal ends the process.
    pub(crate) async fn run(mut self) -> Result<Exit, CommandError> {
        let exit = loop {
            self.serve_parked_requests().await;
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
                LoopEvent::Input(InputLine::Invalid { number, problem, prompt }) => {
                    self.on_invalid_line(number, &problem, prompt);
                }
                LoopEvent::Input(InputLine::End) => self.on_input_end(),
                LoopEvent::ClientChannel(event) => self.on_channel_event(event),
                LoopEvent::RequestCompleted(request) => self.on_request_completed(request),
                LoopEvent::RequestOverdue => self.expire_requests(),
                LoopEvent::KeepAlive if self.output.frame_writer.is_empty() => {
                    self.output.frame_writer.write_frame(&OutgoingFrame::KeepAlive);
                }
                LoopEvent::KeepAlive | LoopEvent::Wakeup => {}
                LoopEvent::Session(SessionEvent::Notice(Some(notice))) => {
                    self.on_notice(&notice).await;
                }
                LoopEvent::Session(SessionEvent::Notice(None)) => self.on_session_lost(),
                LoopEvent::Session(SessionEvent::ClientServersReady) => {
                    self.on_client_servers_ready();
                }
                LoopEvent::SettingsReloaded(reloaded) => self.on_settings_reloaded(reloaded),
                LoopEvent::TaskEnded => {
                    self.send_ended_commands();
                    self.queue_task_notifications();
                    self.send_idle_state();
                }
            }
        };
        self.report_cleanup().await;
        let exit = match self.output.printer.take() {
            // After a second signal nothing more is printed.
            Some(printer) if !self.signals.listener.is_urgent() => {
                let caught = self.signals.caught.map(|caught| caught.signal);
                printer.print_result(caught, &mut self.signals.listener).await
            }
            Some(_) | None => exit,
        };
        if let Some(log) = &mut self.output.debug_log {
            let _ = await_unless_signalled(&mut self.signals.listener, log.finish()).await;
        }
        let cut_off = self.shut_down().await;
        if let Some(error) = self.output.frame_writer.failure() {
            return Err(CommandError::failure(format!(
                "the frames could not be written to standard output: {error}; make room where they go"
            )));
        }
        Ok(cut_off.map_or(exit, ExitSignal::exit))
    }

    async fn next_event(&mut self) -> LoopEvent {
        if let Some(early) = self.input.early_line.take() {
            return LoopEvent::Input(early);
        }
        let keep_alive = self.output.next_keep_alive();
        let caught = self.signals.caught;
        let background_deadline = self.input.background_deadline.filter(|_| self.turn.is_none());
        let has_room = self.output.frame_writer.has_room();
        let may_read_input = self.may_read_input();
        let session = self.session.live().map(|live| live.session.clone());
        let ended_tasks = session.zip(self.count_ended_tasks());
        tokio::select! {
            signal = self.signals.listener.next() => LoopEvent::Signal(signal),
            Some(signal) = await_signal_deadline(caught), if caught.is_some() => {
                LoopEvent::SignalTimeout(signal)
            }
            line = self.input.lines.recv(), if !self.input.is_over && may_read_input => {
                LoopEvent::Input(line.unwrap_or(InputLine::End))
            }
            Some(event) = self.client.channel_events.recv() => LoopEvent::ClientChannel(event),
            Some(request) = self.control.next_completed() => LoopEvent::RequestCompleted(request),
            () = sleep_until_or_forever(background_deadline) => LoopEvent::Wakeup,
            () = sleep_until_or_forever(self.deferred_call.next_due()) => LoopEvent::Wakeup,
            () = sleep_until_or_forever(self.client.pending.next_deadline()) => LoopEvent::RequestOverdue,
            () = self.output.frame_writer.wait_for_change() => LoopEvent::Wakeup,
            () = sleep_until_or_forever(Some(keep_alive)) => LoopEvent::KeepAlive,
            event = self.session.next_event(has_room) => LoopEvent::Session(event),
            reloaded = settings_reload::await_settings_reload(&mut self.settings_reload) => LoopEvent::SettingsReloaded(reloaded),
            () = await_task_end(ended_tasks) => LoopEvent::TaskEnded,
        }
    }

    /// The exit code, if nothing is left to do.
    fn exit_if_done(&self) -> Option<Exit> {
        if self.output.frame_writer.is_closed() {
            // Nothing is read any more; the run is ended with the session.
            return Some(Exit::SUCCESS);
        }
        if self.turn.is_some() {
            return None;
        }
        if let Some(caught) = self.signals.caught {
            return Some(caught.signal.exit());
        }
        let is_idle = self.prompts.waiting.is_empty()
            && self.control.is_idle()
            && !self.is_awaiting_tasks()
            && !self.deferred_call.is_due();
        let is_done = self.input.expects_no_prompts() && is_idle || self.session.is_lost();
        let exit = if self.output.has_failed { Exit::FAILURE } else { Exit::SUCCESS };
        is_done.then_some(exit)
    }

    /// Does an agent run in the background that is worth waiting for?
    fn is_awaiting_tasks(&self) -> bool {
        self.has_running_agents()
            && self.input.background_deadline.is_none_or(|until| Instant::now() < until)
    }

    /// The first signal ends the run, a second one everything. Says whether to go on.
    fn on_signal(&mut self, signal: ExitSignal) -> bool {
        if self.signals.caught.is_some() {
            return false;
        }
        let deadline = Instant::now() + SIGNAL_GRACE_MAX;
        self.signals.caught = Some(CaughtSignal { signal, deadline });
        self.prompts.waiting.clear();
        match self.session.live() {
            Some(live) if self.turn.is_some() => {
                live.session.interrupt(signal_to_interrupt(signal)).is_ok()
            }
            Some(_) | None => true,
        }
    }

    /// Requests to the client are not answered from now on.
    fn on_input_end(&mut self) {
        self.input.is_over = true;
        self.start_background_deadline();
        self.fail_pending_requests();
    }

    /// The last prompt was sent. Requests to the client are still answered.
    pub(crate) fn on_last_prompt_sent(&mut self) {
        self.input.is_last_prompt_sent = true;
        self.start_background_deadline();
    }

    /// After the end of input, starts the timeout for background agents.
    fn start_background_deadline(&mut self) {
        if self.input.expects_no_prompts() {
            self.deferred_call.on_no_more_prompts();
            self.input.background_deadline =
                read_background_wait().map(|wait| Instant::now() + wait);
        }
    }

    /// Sends a frame of the conversation.
    fn send_frame(&mut self, frame: OutgoingFrame) {
        self.send_frame_as(frame, random::generate_uuid());
    }

    fn send_frame_as(&mut self, frame: OutgoingFrame, uuid: String) {
        let session_id = self.session.session_id().to_owned();
        self.output.frame_writer.write_frame(&ConversationFrame { frame, uuid, session_id });
    }

    /// Sends the state, if the client wants to know it.
    fn send_state(&mut self, state: SessionState) {
        if let Some(frame) = self.output.state_reporter.update(state) {
            self.send_frame(frame);
        }
    }

    /// Sends new lines of transcripts, if that is wanted.
    fn send_transcript_lines(&mut self) {
        let frames = self.session.live().map(|live| live.frames.transcript.take_frames());
        frames.into_iter().flatten().for_each(|frame| self.send_frame(frame));
    }
}

async fn await_signal_deadline(caught: Option<CaughtSignal>) -> Option<ExitSignal> {
    sleep_until_or_forever(caught.map(|caught| caught.deadline)).await;
    caught.map(|caught| caught.signal)
}

/// Waits until one more task of the session has ended than are known.
async fn await_task_end(ended_tasks: Option<(Session, usize)>) {
    match ended_tasks {
        Some((session, known)) => session.wait_for_background_end(known).await,
        None => std::future::pending().await,
    }
}

/// How long agents in the background are waited for; `None` means as long as they take.
fn read_background_wait() -> Option<Duration> {
    let given =
        read_env_duration("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(BACKGROUND_WAIT_MAX);
    Some(given).filter(|wait| !wait.is_zero())
}

fn read_env_duration(name: &str) -> Option<Duration> {
    std::env::var(name).ok()?.parse().ok().map(Duration::from_millis)
}

const BACKGROUND_WAIT_MAX: Duration = Duration::from_secs(600);
/// How long a run may take to end after a signal.
const SIGNAL_GRACE_MAX: Duration = Duration::from_secs(5);
