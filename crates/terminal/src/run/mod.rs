//! Carries keys, notices and wishes between the terminal and the session. Draws at most eighty times
//! a second however fast things happen, and not at all while nothing does.

mod canvas;
mod choose;
mod clipboard;
mod outside;
mod status;
mod thread;
mod told;

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
use windlass_driver::{Interrupt, Notices, Session, Submission};
use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::{Mode, Notice};

use crate::app::{About, App, Wish};
use crate::field::Field;
use crate::files::Files;
use crate::input::reader::Reader;
use crate::input::{Parser, Typed};
use crate::line::Role;
use crate::menu::Hint;
use crate::picker::Picker;
use crate::theme::Theme;
use canvas::Canvas;
pub use choose::choose;
use outside::Editing;
pub use status::Facts;
use status::StatusClock;
pub use thread::run;
use told::Told;

/// What a prompt asks for.
pub enum Order {
    /// Say this to the model.
    Say(Submission),
    /// Make history shorter, with a view to something.
    Compact(Option<String>),
    /// Show this.
    Show(String),
    /// Show the first of these that is not wider than the screen, or the last.
    Fit(Vec<String>),
    /// Show what fills the window.
    Context(Box<Inventory>),
    /// Choose one of these; each stands for a prompt.
    Pick(Picker),
    /// Write a line; it becomes a prompt.
    Fill(Field),
    /// Something was done; perhaps there is more to choose.
    Done(String, Option<Picker>),
    /// Say this now, and carry out what comes of the rest when it is there.
    Wait(String, Ordering),
    /// Write in this file, in an editor of one's own.
    Open(PathBuf),
    /// Ask this beside the conversation.
    Aside(String),
    /// Another model is asked from now on: its name and its window.
    Model(String, u64),
    /// This may run without a question from now on.
    Mode(Mode),
    /// Keys as in vim, or no longer.
    Vim,
    /// Another look; nothing for the one that fits the terminal's ground.
    Theme(Option<Theme>),
    /// The session went back to before a prompt, which may be said again in other words.
    Back {
        /// What was done.
        words: String,
        /// The prompt.
        prompt: String,
    },
    /// End the session.
    Quit,
}

/// What is being made of a prompt.
pub type Ordering = Pin<Box<dyn Future<Output = Result<Order, String>> + Send>>;

/// Whoever holds the session and knows what prompts mean.
pub trait Host: Send + Sync {
    /// What a prompt asks for, or what is wrong with it. May take its time.
    fn order(&self, prompt: String) -> Ordering;

    /// Commands that may be typed now: some come when a server does.
    fn commands(&self) -> Vec<Hint>;

    /// Something was told. Only to be noted.
    fn heard(&self, notice: &Notice);

    /// Remembers what was said for other sessions. May take its time.
    fn said(&self, prompt: &str);

    /// Keeps rules for other sessions, and says where. May take its time.
    ///
    /// # Errors
    /// Why they could not be kept.
    fn keep(&self, rules: &[String]) -> Result<String, String>;

    /// A line of the user's own about this, to be shown below; `None` when nobody makes one. Asked for
    /// again and again while things happen, one at a time; whatever it takes, nothing waits for it.
    fn status(&self, _facts: Facts) -> Option<Asked> {
        None
    }
}

/// A line that is being made; nothing, if that fails.
pub type Asked = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// How things are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// Colours.
    pub theme: Theme,
    /// The terminal is asked whether its ground is light.
    pub asks_ground: bool,
    /// Line by line, nothing drawn twice.
    pub is_linear: bool,
    /// The terminal shows messages of programs.
    pub has_messages: bool,
}

/// Everything a conversation begins with.
pub struct Stage {
    /// The session.
    pub session: Session,
    /// What it tells.
    pub notices: Notices,
    /// What is shown of it.
    pub about: About,
    /// What may run without a question.
    pub mode: Mode,
    /// How things look.
    pub looks: Looks,
    /// Who knows what prompts mean.
    pub host: Arc<dyn Host>,
    /// Where files are looked for.
    pub folder: PathBuf,
    /// Where files of the session may be put that it may read; made when it is needed.
    pub aside: PathBuf,
    /// What was said in other sessions, the oldest first.
    pub said: Vec<String>,
    /// Keys as in vim.
    pub vim: bool,
    /// What is said first, if anything.
    pub first: Option<String>,
    /// What is typed already.
    pub typed: String,
    /// What was said in this session before, to be shown again.
    pub earlier: Vec<Earlier>,
    /// What people should know before it begins.
    pub notes: Vec<String>,
}

/// Something that was said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The user said it.
    pub is_prompt: bool,
    /// What.
    pub words: String,
}

/// Holds a conversation on this thread.
async fn held(
    stage: Stage,
    session_side: Handle,
    left: oneshot::Receiver<()>,
) -> io::Result<String> {
    let Stage { session, notices, about, mode, looks, host, folder, said, .. } = stage;
    let canvas = Canvas::open(looks)?;
    let (tell, told) = mpsc::channel(TOLD_MAX);
    let mut conversation = Conversation {
        app: App::new(about, mode, canvas.size()),
        canvas,
        reader: Reader::start()?,
        parser: Parser::default(),
        files: Files::below(folder),
        session,
        host,
        tell,
        session_side,
        aside: stage.aside,
        editing: None,
        began: Instant::now(),
        painted: None,
        status: StatusClock::default(),
        is_over: false,
    };
    conversation.app.composer.remember(said);
    conversation.app.composer.set(stage.typed);
    conversation.app.vim = stage.vim.then(Default::default);
    for earlier in stage.earlier {
        conversation.app.earlier(&earlier);
    }
    for note in stage.notes {
        conversation.app.say(&note, Role::Quiet);
    }
    if let Some(first) = stage.first {
        conversation.wish(Wish::Submit(first));
    }
    let outcome = conversation.hold(notices, told, left).await;
    let _ = conversation.close();
    let left = conversation.app.composer.whole();
    conversation.reader.end();
    outcome.map(|()| left)
}

struct Conversation {
    app: App,
    canvas: Canvas,
    reader: Reader,
    parser: Parser,
    files: Files,
    session: Session,
    host: Arc<dyn Host>,
    tell: mpsc::Sender<Told>,
    /// Where everything runs that is not the terminal.
    session_side: Handle,
    /// Where images are put that lie nowhere, or elsewhere.
    aside: PathBuf,
    /// An editor that has the terminal.
    editing: Option<Editing>,
    began: Instant,
    /// When something was drawn last.
    painted: Option<Instant>,
    status: StatusClock,
    is_over: bool,
}

impl Conversation {
    async fn hold(
        &mut self,
        mut notices: Notices,
        mut told: mpsc::Receiver<Told>,
        mut left: oneshot::Receiver<()>,
    ) -> io::Result<()> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut stopped = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        self.paint()?;
        self.canvas.ask_ground()?;
        let mut frame = self.backlog();
        while !self.is_over {
            let tick = self.tick();
            let status = self.status.next();
            let settles = self.parser.is_waiting().then(|| Instant::now() + SEQUENCE_WAIT);
            tokio::select! {
                biased;
                () = at(frame) => {
                    self.paint()?;
                    frame = self.backlog();
                    continue;
                }
                bytes = self.reader.next() => match bytes {
                    Some(bytes) => {
                        let typed = self.parser.feed(&bytes);
                        self.typed(typed)?;
                        frame = Some(self.soon(KEY_FRAME));
                    }
                    // Nobody can type any more.
                    None => self.is_over = true,
                },
                _ = &mut left => self.is_over = true,
                Some(told) = told.recv() => self.told(told),
                Some(found) = self.files.next() => self.app.found = found,
                _ = resized.recv() => self.canvas.is_resized = true,
                _ = stopped.recv() => self.suspend()?,
                edited = until(&mut self.editing) => self.edited(edited)?,
                // What comes while a frame is due is read with the next one: pieces of a text are
                // joined meanwhile.
                notice = notices.next(), if frame.is_none() => match notice {
                    Some(notice) => self.noticed(notice, &mut notices),
                    None => self.is_over = true,
                },
                () = at(settles) => {
                    let typed = self.parser.settle();
                    self.typed(typed)?;
                }
                () = at(status) => {
                    self.ask_status();
                    continue;
                }
                () = at(tick) => {}
            }
            frame = frame.or_else(|| Some(self.soon(FRAME)));
        }
        Ok(())
    }

    /// The session tells something, and perhaps more: so much as a frame may cost.
    fn noticed(&mut self, first: Notice, notices: &mut Notices) {
        self.app.now = self.began.elapsed();
        let more = std::iter::from_fn(|| notices.try_next()).take(NOTICES_MAX);
        for notice in std::iter::once(first).chain(more) {
            self.host.heard(&notice);
            if !matches!(notice, Notice::Streamed { .. }) {
                self.status.stir();
            }
            for wish in self.app.notice(&notice) {
                self.wish(wish);
            }
        }
    }

    /// When the rest is drawn of what did not fit a frame.
    fn backlog(&self) -> Option<Instant> {
        let has_more = self.editing.is_none() && !self.canvas.has_shown(&self.app);
        has_more.then(|| self.soon(BACKLOG_FRAME))
    }

    /// When something changes by itself: a clock while something is under way, and the moment from
    /// which a question may be answered.
    fn tick(&self) -> Option<Instant> {
        let clock = self.app.is_busy.then(|| Instant::now() + TICK);
        let is_held = !self.app.approvals.is_empty() && !self.app.is_armed();
        let armed = self.app.armed_at().filter(|_| is_held).map(|armed| self.began + armed);
        clock.into_iter().chain(armed).min()
    }

    /// The next moment something may be drawn.
    fn soon(&self, span: Duration) -> Instant {
        let now = Instant::now();
        self.painted.map_or(now, |painted| (painted + span).max(now))
    }

    fn typed(&mut self, typed: Vec<Typed>) -> io::Result<()> {
        self.app.now = self.began.elapsed();
        for typed in typed {
            match typed {
                Typed::Key(key) => {
                    for wish in self.app.key(key) {
                        match wish {
                            Wish::Suspend => self.suspend()?,
                            Wish::Edit => self.edit()?,
                            Wish::Redraw => self.canvas.is_resized = true,
                            wish => self.wish(wish),
                        }
                    }
                }
                Typed::Ground { is_light } => self.canvas.ground(is_light),
            }
        }
        let typed = self.app.composer.text();
        if typed.starts_with('/') && !typed.contains(char::is_whitespace) {
            self.app.about.commands = self.host.commands();
        }
        Ok(())
    }

    fn wish(&mut self, wish: Wish) {
        match wish {
            Wish::Submit(prompt) => self.submit(prompt),
            Wish::Choose(prompt) => self.choose(prompt),
            Wish::Answer(ticket, answer) => self.sent(self.session.answer(ticket, answer)),
            Wish::Keep(rules) => self.keep(rules),
            Wish::Mode(mode) => {
                let change = self.session.configure(move |settings| settings.policy.mode = mode);
                self.sent(change);
            }
            Wish::Find(wanted) => self.files.look(wanted),
            Wish::Look(ticket, path) => self.look(ticket, path),
            Wish::TakeBack => self.take_back(),
            Wish::Image => self.image(),
            Wish::Bring(path) => self.bring(path),
            Wish::Call(words) => self.canvas.call(&words),
            Wish::Count => self.count(),
            Wish::Interrupt => self.sent(self.session.interrupt(Interrupt::User)),
            Wish::Quit => self.is_over = true,
            // These need the terminal and are seen to where keys are.
            Wish::Suspend | Wish::Edit | Wish::Redraw => {}
        }
    }

    fn sent<E: std::fmt::Display>(&mut self, sent: Result<(), E>) {
        if let Err(error) = sent {
            self.app.say(&error.to_string(), Role::Bad);
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        if self.editing.is_some() {
            return Ok(());
        }
        self.app.now = self.began.elapsed();
        self.canvas.paint(&mut self.app)?;
        self.painted = Some(Instant::now());
        Ok(())
    }

    /// Shows what is finished and takes the rest away.
    fn close(&mut self) -> io::Result<()> {
        self.canvas.close(&mut self.app)
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until an editor is done; for ever, if there is none.
async fn until(editing: &mut Option<Editing>) -> io::Result<()> {
    match editing {
        Some(Editing { task, .. }) => {
            task.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
        None => std::future::pending().await,
    }
}

/// The shortest time between two drawings, and between a drawing and that of a key.
const FRAME: Duration = Duration::from_millis(12);
const KEY_FRAME: Duration = Duration::from_millis(4);
/// The same while more waits than a frame may hold.
const BACKLOG_FRAME: Duration = Duration::from_millis(2);
/// Notices that are read before something is drawn.
const NOTICES_MAX: usize = 256;
/// How often a clock is shown anew.
const TICK: Duration = Duration::from_millis(250);
/// How long the rest of a sequence may take, before an escape is the key.
const SEQUENCE_WAIT: Duration = Duration::from_millis(40);
const TOLD_MAX: usize = 64;
