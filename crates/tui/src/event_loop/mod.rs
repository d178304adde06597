//! Carries keys, notices and actions between the terminal and the session. Paints at most eighty times
//! a second, however fast notices come, and not at all while nothing changes.

mod clipboard;
mod editor;
mod image_import;
mod secret_input;
mod standalone_picker;
mod status_schedule;
mod task_outcome;
mod terminal_renderer;
mod terminal_title;
mod tui_thread;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use windlass_driver::SettingsChange;
use windlass_driver::{Interrupt, Notices, PromptSubmission, Session};
use windlass_vocabulary::Notice;

use crate::app::{App, AppAction};
use crate::file_search::FileSearch;
use crate::host::TuiHost;
use crate::input::terminal_reader::TerminalReader;
use crate::input::{InputParser, TerminalInput};
use crate::setup::TuiSetup;
use crate::styled_line::TextStyle;
use crate::typed_prompt::SentPrompt;
use crate::words;
use editor::RunningEditor;
pub(crate) use secret_input::run_secret_input;
pub(crate) use standalone_picker::run_picker;
use status_schedule::StatusSchedule;
use task_outcome::TuiTaskOutcome;
use terminal_renderer::TerminalRenderer;
pub(crate) use tui_thread::run_tui;

/// Runs the TUI on this thread until it is closed; returns what was typed and not sent.
async fn run_event_loop(
    setup: TuiSetup,
    session_runtime: Handle,
    cancelled: oneshot::Receiver<()>,
) -> io::Result<String> {
    let renderer = TerminalRenderer::open(setup.display)?;
    let (outcome_sender, outcomes) = mpsc::channel(OUTCOMES_MAX);
    let mut event_loop = TuiEventLoop {
        app: App::new(setup.facts, setup.mode, renderer.size()),
        renderer,
        reader: TerminalReader::start()?,
        parser: InputParser::default(),
        file_search: FileSearch::start(setup.working_directory),
        session: setup.session,
        host: setup.host,
        outcome_sender,
        session_runtime,
        scratch_directory: setup.scratch_directory,
        editor: None,
        started: Instant::now(),
        last_painted: None,
        status: StatusSchedule::default(),
        closing: ClosingState::Open,
    };
    let app = &mut event_loop.app;
    app.input.composer.set_history(setup.prompt_history);
    app.input.composer.set_text(setup.unsent_text);
    app.input.vim = setup.has_vim_keys.then(Default::default);
    app.show_banner();
    for earlier in setup.earlier_notices {
        app.show_earlier_notice(&earlier);
    }
    app.usage.set_spent_before(setup.spent_before);
    if !setup.startup_notes.is_empty() {
        app.show_text(&setup.startup_notes.join("\n"), TextStyle::Dim);
    }
    if let Some(first) = setup.first_prompt {
        event_loop.perform_action(AppAction::Submit(first.into()));
    }
    let result = event_loop.run_until_closed(setup.notices, outcomes, cancelled).await;
    let _ = event_loop.close();
    let unsent = event_loop.app.input.composer.full_text();
    event_loop.reader.stop();
    result.map(|()| unsent)
}

struct TuiEventLoop {
    app: App,
    renderer: TerminalRenderer,
    reader: TerminalReader,
    parser: InputParser,
    file_search: FileSearch,
    session: Session,
    host: Arc<dyn TuiHost>,
    outcome_sender: mpsc::Sender<TuiTaskOutcome>,
    /// Runs everything that may block or wait.
    session_runtime: Handle,
    /// For images that the session must be able to read.
    scratch_directory: PathBuf,
    editor: Option<RunningEditor>,
    started: Instant,
    last_painted: Option<Instant>,
    status: StatusSchedule,
    closing: ClosingState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClosingState {
    Open,
    /// The user was warned about background tasks that would be stopped.
    Warned,
    Closing,
}

impl TuiEventLoop {
    async fn run_until_closed(
        &mut self,
        mut notices: Notices,
        mut outcomes: mpsc::Receiver<TuiTaskOutcome>,
        mut cancelled: oneshot::Receiver<()>,
    ) -> io::Result<()> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut stopped = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        self.paint()?;
        self.renderer.query_background()?;
        let mut frame = self.next_backlog_frame();
        while self.closing != ClosingState::Closing {
            let tick = self.next_tick();
            let status = self.status.next_due();
            // Shown and waited for by one look: a task that ends between two would stay on the screen.
            let before = self.app.session.background_tasks;
            let ended_tasks = self.refresh_background_tasks();
            if self.app.session.background_tasks != before {
                frame = frame.or_else(|| Some(self.next_frame_at(FRAME_INTERVAL)));
            }
            let background_ended = self.session.wait_for_background_end(ended_tasks);
            let settles =
                self.parser.has_partial_sequence().then(|| Instant::now() + SEQUENCE_WAIT);
            tokio::select! {
                biased;
                () = wait_until(frame) => {
                    self.paint()?;
                    frame = self.next_backlog_frame();
                    continue;
                }
                bytes = self.reader.next_bytes() => match bytes {
                    Some(bytes) => {
                        let input = self.parser.feed(&bytes);
                        self.handle_input(input)?;
                        frame = Some(self.next_frame_at(KEY_FRAME_INTERVAL));
                    }
                    // The terminal was closed.
                    None => self.closing = ClosingState::Closing,
                },
                _ = &mut cancelled => self.closing = ClosingState::Closing,
                Some(outcome) = outcomes.recv() => self.handle_task_outcome(outcome),
                Some(matches) = self.file_search.next_matches() => {
                    self.app.completion.file_matches = matches;
                }
                _ = resized.recv() => self.renderer.needs_redraw = true,
                _ = stopped.recv() => self.suspend()?,
                edited = wait_for_editor(&mut self.editor) => self.finish_editing(edited)?,
                // While a frame is due, notices wait in their channel, where pieces of text are joined.
                notice = notices.next(), if frame.is_none() => match notice {
                    Some(notice) => self.handle_notices(notice, &mut notices),
                    None => self.closing = ClosingState::Closing,
                },
                // Nothing else tells that a task has ended while no run is active.
                () = background_ended => {}
                () = wait_until(settles) => {
                    let input = self.parser.flush_pending();
                    self.handle_input(input)?;
                }
                () = wait_until(status) => {
                    self.request_status();
                    continue;
                }
                () = wait_until(tick) => {
                    self.app.now = self.started.elapsed();
                    self.refresh_commands();
                }
            }
            frame = frame.or_else(|| Some(self.next_frame_at(FRAME_INTERVAL)));
        }
        Ok(())
    }

    /// Also takes further notices that are ready: as many as one frame may cost.
    fn handle_notices(&mut self, first: Notice, notices: &mut Notices) {
        self.app.now = self.started.elapsed();
        let more = std::iter::from_fn(|| notices.try_next()).take(NOTICES_MAX);
        for notice in std::iter::once(first).chain(more) {
            self.host.observe_notice(&notice);
            if !matches!(notice, Notice::Streamed { .. }) {
                self.status.mark_due();
            }
            for action in self.app.handle_notice(&notice) {
                self.perform_action(action);
            }
        }
    }

    /// When to paint what did not fit into the last frame.
    fn next_backlog_frame(&self) -> Option<Instant> {
        let has_more = self.editor.is_none() && !self.renderer.is_up_to_date(&self.app);
        has_more.then(|| self.next_frame_at(BACKLOG_FRAME_INTERVAL))
    }

    /// When to paint although nothing happens: for the clock of a run, for a command that a server may
    /// still bring, and when a permission prompt becomes answerable.
    fn next_tick(&self) -> Option<Instant> {
        let is_ticking = self.app.run.is_busy() || self.app.awaits_commands();
        let clock = is_ticking.then(|| Instant::now() + TICK_INTERVAL);
        let is_waiting =
            !self.app.dialogs.permission_prompts.is_empty() && !self.app.may_answer_prompt();
        let answerable = self.app.prompt_answerable_at().filter(|_| is_waiting);
        clock.into_iter().chain(answerable.map(|at| self.started + at)).min()
    }

    /// The earliest time of the next frame.
    fn next_frame_at(&self, interval: Duration) -> Instant {
        let now = Instant::now();
        self.last_painted.map_or(now, |painted| (painted + interval).max(now))
    }

    fn handle_input(&mut self, all_input: Vec<TerminalInput>) -> io::Result<()> {
        self.app.now = self.started.elapsed();
        for input in all_input {
            match input {
                TerminalInput::Key(key) => {
                    for action in self.app.handle_key(key) {
                        if action == AppAction::Suspend {
                            self.suspend()?;
                        } else if action == AppAction::OpenEditor {
                            self.edit_prompt()?;
                        } else {
                            self.perform_action(action);
                        }
                    }
                }
                TerminalInput::Background { is_light } => self.renderer.apply_background(is_light),
            }
        }
        self.refresh_commands();
        Ok(())
    }

    /// Servers that connect bring commands while the user types.
    fn refresh_commands(&mut self) {
        if self.app.is_typing_command() {
            self.app.session.facts.commands = self.host.list_commands();
        }
    }

    fn perform_action(&mut self, action: AppAction) {
        match action {
            AppAction::Submit(prompt) => self.submit_prompt(prompt),
            AppAction::SubmitChoice(prompt) => self.submit_choice(prompt),
            AppAction::AnswerPermission(ticket, answer) => {
                self.show_send_error(self.session.answer(ticket, answer));
            }
            AppAction::SendComment(comment) => {
                let submission = PromptSubmission::from(comment.as_str());
                self.app.input.expect_sent(SentPrompt::new(&submission.content, comment.into()));
                self.show_send_error(self.session.submit(submission));
            }
            AppAction::SaveRules(rules) => self.save_rules(rules),
            AppAction::SetMode(mode) => {
                let change = self.session.configure([SettingsChange::Mode(mode)]);
                self.show_send_error(change);
            }
            AppAction::SearchFiles(query) => self.file_search.request(query),
            AppAction::ReadFile(ticket, path) => self.read_file_before(ticket, path),
            AppAction::UnqueueInput => self.unqueue_input(1),
            AppAction::UnqueueAll => self.unqueue_input(usize::MAX),
            AppAction::ExplainEnding(ending) => self.explain_ending(*ending),
            AppAction::PasteImage => self.paste_clipboard_image(),
            AppAction::ImportImage(path) => self.import_dragged_image(path),
            AppAction::Notify(words) => self.renderer.notify(&words),
            AppAction::CountContext => self.count_context(),
            AppAction::Interrupt => self.show_send_error(self.session.interrupt(Interrupt::User)),
            AppAction::MoveToBackground => {
                // By name: what an agent waits for stays with the agent.
                let mut is_moved = false;
                for running in &self.app.run.calls {
                    let call = Some(running.call.id.as_str());
                    is_moved |= self.session.move_awaited_to_background(call);
                }
                self.app.keys.hint = Some(match is_moved {
                    true => words::HINT_MOVED,
                    false => words::HINT_NOTHING_TO_MOVE,
                });
            }
            AppAction::Quit => self.quit(),
            AppAction::Redraw => self.renderer.needs_redraw = true,
            // Only keys ask for these, and `handle_input` performs them: they may fail.
            AppAction::Suspend | AppAction::OpenEditor => {}
        }
    }

    /// Leaving stops what runs in the background, so it warns once.
    fn quit(&mut self) {
        let tasks = self.app.session.background_tasks;
        if tasks == 0 || self.closing == ClosingState::Warned {
            self.closing = ClosingState::Closing;
            return;
        }
        self.closing = ClosingState::Warned;
        self.app.show_text(&words::warn_before_exit(tasks), TextStyle::Warning);
    }

    /// Returns how many have ended.
    fn refresh_background_tasks(&mut self) -> usize {
        let tasks = self.session.background_tasks();
        let ended = tasks.iter().filter(|task| task.end_summary.is_some()).count();
        self.app.session.background_tasks = tasks.len() - ended;
        ended
    }

    fn show_send_error<E: std::fmt::Display>(&mut self, sent: Result<(), E>) {
        if let Err(error) = sent {
            self.app.show_error(&error.to_string());
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        if self.editor.is_some() {
            return Ok(());
        }
        self.app.now = self.started.elapsed();
        self.renderer.paint(&mut self.app)?;
        self.last_painted = Some(Instant::now());
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.renderer.close(&mut self.app)
    }
}

async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until the editor has ended; forever, if there is none.
async fn wait_for_editor(editor: &mut Option<RunningEditor>) -> io::Result<()> {
    match editor {
        Some(RunningEditor { task, .. }) => {
            task.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
        None => std::future::pending().await,
    }
}

/// The shortest time between two frames, and between a frame and the echo of a key.
const FRAME_INTERVAL: Duration = Duration::from_millis(12);
const KEY_FRAME_INTERVAL: Duration = Duration::from_millis(4);
/// The same while there is more to paint than one frame may hold.
const BACKLOG_FRAME_INTERVAL: Duration = Duration::from_millis(2);
/// Notices that are handled between two frames.
const NOTICES_MAX: usize = 256;
/// How often the clock of a run is painted.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// How long the rest of an escape sequence may take, before the escape is a key.
const SEQUENCE_WAIT: Duration = Duration::from_millis(40);
const OUTCOMES_MAX: usize = 64;
