//! Carries keys, notices and wishes between the terminal and the session. Draws at most eighty times
//! a second however fast things happen, and not at all while nothing does.

mod clipboard;
mod editor;
mod standalone_picker;
mod status_schedule;
mod task_outcome;
mod terminal_renderer;
mod tui_thread;

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use windlass_driver::{Interrupt, Notices, PromptSubmission, Session, SettingsChange};
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{Notice, PermissionMode};

use crate::app::{App, AppAction, TuiSessionFacts};
use crate::file_search::FileSearch;
use crate::input::terminal_reader::TerminalReader;
use crate::input::{InputParser, TerminalInput};
use crate::picker::Picker;
use crate::slash_command_menu::SlashCommandHint;
use crate::styled_line::TextStyle;
use crate::theme::Theme;
use crate::validated_input::ValidatedInput;
use editor::RunningEditor;
pub use standalone_picker::run_picker;
pub use status_schedule::StatusLineFacts;
use status_schedule::StatusSchedule;
use task_outcome::TuiTaskOutcome;
use terminal_renderer::TerminalRenderer;
pub use tui_thread::run_tui;

/// What a prompt asks for.
pub enum PromptAction {
    /// Say this to the model.
    SendToModel(PromptSubmission),
    /// Make history shorter, with a view to something.
    Compact(Option<String>),
    /// Show this.
    ShowText(String),
    /// Show the first of these that is not wider than the screen, or the last.
    ShowFirstFitting(Vec<String>),
    /// Show what fills the window.
    ShowContext(Box<ContextUsage>),
    /// Choose one of these; each stands for a prompt.
    OpenPicker(Picker),
    /// Write a line; it becomes a prompt.
    OpenInput(ValidatedInput),
    /// Something was done; perhaps there is more to choose.
    ShowResult(String, Option<Picker>),
    /// Say this now, and carry out what comes of the rest when it is there.
    ShowThenAwait(String, PromptActionFuture),
    /// Write in this file, in an editor of one's own.
    EditFile(PathBuf),
    /// Ask this beside the conversation.
    SideQuestion(String),
    /// Another model is asked from now on: its name and its window.
    ModelChanged(String, u64),
    /// This may run without a question from now on.
    SetMode(PermissionMode),
    /// Keys as in vim, or no longer.
    ToggleVim,
    /// Another look; nothing for the one that fits the terminal's ground.
    SetTheme(Option<Theme>),
    /// The session went back to before a prompt, which may be said again in other words.
    Rewound {
        /// What was done.
        words: String,
        /// The prompt.
        prompt: String,
    },
    /// End the session.
    Quit,
}

/// What is being made of a prompt.
pub type PromptActionFuture = Pin<Box<dyn Future<Output = Result<PromptAction, String>> + Send>>;

/// Whoever holds the session and knows what prompts mean.
pub trait TuiHost: Send + Sync {
    /// What a prompt asks for, or what is wrong with it. May take its time.
    fn resolve_prompt(&self, prompt: String) -> PromptActionFuture;

    /// Commands that may be typed now: some come when a server does.
    fn list_commands(&self) -> Vec<SlashCommandHint>;

    /// Something was told. Only to be noted.
    fn observe_notice(&self, notice: &Notice);

    /// Remembers what was said for other sessions. May take its time.
    fn remember_prompt(&self, prompt: &str);

    /// Keeps rules for other sessions, and says where. May take its time.
    ///
    /// # Errors
    /// Why they could not be kept.
    fn save_rules(&self, rules: &[String]) -> Result<String, String>;

    /// A line of the user's own about this, to be shown below; `None` when nobody makes one. Asked for
    /// again and again while things happen, one at a time; whatever it takes, nothing waits for it.
    fn request_status_line(&self, _facts: StatusLineFacts) -> Option<StatusLineFuture> {
        None
    }
}

/// A line that is being made; nothing, if that fails.
pub type StatusLineFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// How things are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TuiDisplayOptions {
    /// Colours.
    pub theme: Theme,
    /// The terminal is asked whether its ground is light.
    pub detects_background: bool,
    /// Line by line, nothing drawn twice.
    pub is_linear: bool,
    /// The terminal shows messages of programs.
    pub has_notifications: bool,
}

/// Everything a conversation begins with.
pub struct TuiSetup {
    /// The session.
    pub session: Session,
    /// What it tells.
    pub notices: Notices,
    /// What is shown of it.
    pub facts: TuiSessionFacts,
    /// What may run without a question.
    pub mode: PermissionMode,
    /// How things look.
    pub display: TuiDisplayOptions,
    /// Who knows what prompts mean.
    pub host: Arc<dyn TuiHost>,
    /// Where files are looked for.
    pub working_directory: PathBuf,
    /// Where files of the session may be put that it may read; made when it is needed.
    pub scratch_directory: PathBuf,
    /// What was said in other sessions, the oldest first.
    pub prompt_history: Vec<String>,
    /// Keys as in vim.
    pub has_vim_keys: bool,
    /// What is said first, if anything.
    pub first_prompt: Option<String>,
    /// What is typed already.
    pub unsent_text: String,
    /// What was said in this session before, to be shown again.
    pub earlier_messages: Vec<EarlierMessage>,
    /// What people should know before it begins.
    pub startup_notes: Vec<String>,
}

/// Something that was said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierMessage {
    /// The user said it.
    pub is_prompt: bool,
    /// What.
    pub text: String,
}

/// Holds a conversation on this thread.
async fn run_event_loop(
    stage: TuiSetup,
    session_side: Handle,
    left: oneshot::Receiver<()>,
) -> io::Result<String> {
    let TuiSetup {
        session,
        notices,
        facts: about,
        mode,
        display: looks,
        host,
        working_directory: folder,
        prompt_history: said,
        ..
    } = stage;
    let canvas = TerminalRenderer::open(looks)?;
    let (tell, told) = mpsc::channel(OUTCOMES_MAX);
    let mut conversation = TuiEventLoop {
        app: App::new(about, mode, canvas.size()),
        renderer: canvas,
        reader: TerminalReader::start()?,
        parser: InputParser::default(),
        file_search: FileSearch::start(folder),
        session,
        host,
        outcome_sender: tell,
        session_runtime: session_side,
        scratch_directory: stage.scratch_directory,
        editor: None,
        started: Instant::now(),
        last_painted: None,
        status: StatusSchedule::default(),
        is_closing: false,
    };
    conversation.app.composer.set_history(said);
    conversation.app.composer.set_text(stage.unsent_text);
    conversation.app.vim = stage.has_vim_keys.then(Default::default);
    for earlier in stage.earlier_messages {
        conversation.app.show_earlier_message(&earlier);
    }
    for note in stage.startup_notes {
        conversation.app.show_text(&note, TextStyle::Dim);
    }
    if let Some(first) = stage.first_prompt {
        conversation.perform_action(AppAction::Submit(first));
    }
    let outcome = conversation.run_until_closed(notices, told, left).await;
    let _ = conversation.close();
    let left = conversation.app.composer.full_text();
    conversation.reader.stop();
    outcome.map(|()| left)
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
    /// Where everything runs that is not the terminal.
    session_runtime: Handle,
    /// Where images are put that lie nowhere, or elsewhere.
    scratch_directory: PathBuf,
    /// An editor that has the terminal.
    editor: Option<RunningEditor>,
    started: Instant,
    /// When something was drawn last.
    last_painted: Option<Instant>,
    status: StatusSchedule,
    is_closing: bool,
}

impl TuiEventLoop {
    async fn run_until_closed(
        &mut self,
        mut notices: Notices,
        mut told: mpsc::Receiver<TuiTaskOutcome>,
        mut left: oneshot::Receiver<()>,
    ) -> io::Result<()> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut stopped = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        self.paint()?;
        self.renderer.query_background()?;
        let mut frame = self.next_backlog_frame();
        while !self.is_closing {
            let tick = self.next_tick();
            let status = self.status.next_due();
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
                        let typed = self.parser.feed(&bytes);
                        self.handle_input(typed)?;
                        frame = Some(self.next_frame_at(KEY_FRAME_INTERVAL));
                    }
                    // Nobody can type any more.
                    None => self.is_closing = true,
                },
                _ = &mut left => self.is_closing = true,
                Some(told) = told.recv() => self.handle_task_outcome(told),
                Some(found) = self.file_search.next_matches() => self.app.file_matches = found,
                _ = resized.recv() => self.renderer.needs_redraw = true,
                _ = stopped.recv() => self.suspend()?,
                edited = wait_for_editor(&mut self.editor) => self.finish_editing(edited)?,
                // What comes while a frame is due is read with the next one: pieces of a text are
                // joined meanwhile.
                notice = notices.next(), if frame.is_none() => match notice {
                    Some(notice) => self.handle_notices(notice, &mut notices),
                    None => self.is_closing = true,
                },
                () = wait_until(settles) => {
                    let typed = self.parser.flush_pending();
                    self.handle_input(typed)?;
                }
                () = wait_until(status) => {
                    self.request_status();
                    continue;
                }
                () = wait_until(tick) => {}
            }
            frame = frame.or_else(|| Some(self.next_frame_at(FRAME_INTERVAL)));
        }
        Ok(())
    }

    /// The session tells something, and perhaps more: so much as a frame may cost.
    fn handle_notices(&mut self, first: Notice, notices: &mut Notices) {
        self.app.now = self.started.elapsed();
        let more = std::iter::from_fn(|| notices.try_next()).take(NOTICES_MAX);
        for notice in std::iter::once(first).chain(more) {
            self.host.observe_notice(&notice);
            if !matches!(notice, Notice::Streamed { .. }) {
                self.status.mark_due();
            }
            for wish in self.app.handle_notice(&notice) {
                self.perform_action(wish);
            }
        }
    }

    /// When the rest is drawn of what did not fit a frame.
    fn next_backlog_frame(&self) -> Option<Instant> {
        let has_more = self.editor.is_none() && !self.renderer.is_up_to_date(&self.app);
        has_more.then(|| self.next_frame_at(BACKLOG_FRAME_INTERVAL))
    }

    /// When something changes by itself: a clock while something is under way, and the moment from
    /// which a question may be answered.
    fn next_tick(&self) -> Option<Instant> {
        let clock = self.app.is_busy.then(|| Instant::now() + TICK_INTERVAL);
        let is_held = !self.app.permission_prompts.is_empty() && !self.app.may_answer_prompt();
        let armed =
            self.app.prompt_answerable_at().filter(|_| is_held).map(|armed| self.started + armed);
        clock.into_iter().chain(armed).min()
    }

    /// The next moment something may be drawn.
    fn next_frame_at(&self, span: Duration) -> Instant {
        let now = Instant::now();
        self.last_painted.map_or(now, |painted| (painted + span).max(now))
    }

    fn handle_input(&mut self, typed: Vec<TerminalInput>) -> io::Result<()> {
        self.app.now = self.started.elapsed();
        for typed in typed {
            match typed {
                TerminalInput::Key(key) => {
                    for wish in self.app.handle_key(key) {
                        match wish {
                            AppAction::Suspend => self.suspend()?,
                            AppAction::OpenEditor => self.edit_prompt()?,
                            AppAction::Redraw => self.renderer.needs_redraw = true,
                            wish => self.perform_action(wish),
                        }
                    }
                }
                TerminalInput::Background { is_light } => self.renderer.apply_background(is_light),
            }
        }
        let typed = self.app.composer.text();
        if typed.starts_with('/') && !typed.contains(char::is_whitespace) {
            self.app.facts.commands = self.host.list_commands();
        }
        Ok(())
    }

    fn perform_action(&mut self, wish: AppAction) {
        match wish {
            AppAction::Submit(prompt) => self.submit_prompt(prompt),
            AppAction::SubmitChoice(prompt) => self.submit_choice(prompt),
            AppAction::AnswerPermission(ticket, answer) => {
                self.show_send_error(self.session.answer(ticket, answer));
            }
            AppAction::SaveRules(rules) => self.save_rules(rules),
            AppAction::SetMode(mode) => {
                let change = self.session.configure([SettingsChange::Mode(mode)]);
                self.show_send_error(change);
            }
            AppAction::SearchFiles(wanted) => self.file_search.request(wanted),
            AppAction::ReadFile(ticket, path) => self.read_file_before(ticket, path),
            AppAction::UnqueueInput => self.unqueue_last_input(),
            AppAction::PasteImage => self.paste_clipboard_image(),
            AppAction::ImportImage(path) => self.import_dragged_image(path),
            AppAction::Notify(words) => self.renderer.notify(&words),
            AppAction::CountContext => self.count_context(),
            AppAction::Interrupt => self.show_send_error(self.session.interrupt(Interrupt::User)),
            AppAction::Quit => self.is_closing = true,
            // These need the terminal and are seen to where keys are.
            AppAction::Suspend | AppAction::OpenEditor | AppAction::Redraw => {}
        }
    }

    fn show_send_error<E: std::fmt::Display>(&mut self, sent: Result<(), E>) {
        if let Err(error) = sent {
            self.app.show_text(&error.to_string(), TextStyle::Failure);
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

    /// Shows what is finished and takes the rest away.
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

/// Waits until an editor is done; for ever, if there is none.
async fn wait_for_editor(editing: &mut Option<RunningEditor>) -> io::Result<()> {
    match editing {
        Some(RunningEditor { task, .. }) => {
            task.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
        None => std::future::pending().await,
    }
}

/// The shortest time between two drawings, and between a drawing and that of a key.
const FRAME_INTERVAL: Duration = Duration::from_millis(12);
const KEY_FRAME_INTERVAL: Duration = Duration::from_millis(4);
/// The same while more waits than a frame may hold.
const BACKLOG_FRAME_INTERVAL: Duration = Duration::from_millis(2);
/// Notices that are read before something is drawn.
const NOTICES_MAX: usize = 256;
/// How often a clock is shown anew.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// How long the rest of a sequence may take, before an escape is the key.
const SEQUENCE_WAIT: Duration = Duration::from_millis(40);
const OUTCOMES_MAX: usize = 64;
