//! Carries keys, notices and wishes between the terminal and the session. Draws at most sixty times a
//! second however fast things happen, and not at all while nothing does.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use windlass_driver::{Interrupt, Notices, Session, Submission};
use windlass_vocabulary::Mode;

use crate::app::{About, App, Wish};
use crate::key::{Typed, typed};
use crate::line::Role;
use crate::painter::Painter;
use crate::screen::Screen;
use crate::theme::Theme;
use crate::view;

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Say this to the model.
    Say(Submission),
    /// Make history shorter, with a view to something.
    Compact(Option<String>),
    /// Show this.
    Show(String),
    /// End the session.
    Quit,
}

/// What is being made of a prompt.
pub type Ordering = Pin<Box<dyn Future<Output = Result<Order, String>> + Send>>;

/// Whoever holds the session and knows what prompts mean.
pub trait Host: Send + Sync {
    /// What a prompt asks for, or what is wrong with it. May take its time.
    fn order(&self, prompt: String) -> Ordering;
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
    pub theme: Theme,
    /// Who knows what prompts mean.
    pub host: Arc<dyn Host>,
    /// What is said first, if anything.
    pub first: Option<String>,
    /// What people should know before it begins.
    pub notes: Vec<String>,
}

/// Holds a conversation until somebody ends it.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run(stage: Stage) -> io::Result<()> {
    let Stage { session, notices, about, mode, theme, host, first, notes } = stage;
    let screen = Screen::open()?;
    let (columns, rows) = Screen::size();
    let (orders, ordered) = mpsc::channel(ORDERS_MAX);
    let mut conversation = Conversation {
        app: App::new(about, mode, columns),
        painter: Painter::new(theme, columns),
        screen,
        rows,
        session,
        host,
        orders,
        began: Instant::now(),
        is_over: false,
    };
    for note in notes {
        conversation.app.say(&note, Role::Quiet);
    }
    if let Some(first) = first {
        conversation.wish(Wish::Submit(first));
    }
    let outcome = conversation.hold(notices, keys(), ordered).await;
    let _ = conversation.close();
    outcome
}

/// Reads the terminal on a thread of its own: there is no other way to wait for keys without waking
/// up for nothing. It ends with the process.
fn keys() -> mpsc::Receiver<Typed> {
    let (sender, receiver) = mpsc::channel(KEYS_MAX);
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if let Some(typed) = typed(event)
                && sender.blocking_send(typed).is_err()
            {
                return;
            }
        }
    });
    receiver
}

struct Conversation {
    app: App,
    painter: Painter,
    screen: Screen,
    rows: usize,
    session: Session,
    host: Arc<dyn Host>,
    orders: mpsc::Sender<Result<Order, String>>,
    began: Instant,
    is_over: bool,
}

impl Conversation {
    async fn hold(
        &mut self,
        mut notices: Notices,
        mut keys: mpsc::Receiver<Typed>,
        mut ordered: mpsc::Receiver<Result<Order, String>>,
    ) -> io::Result<()> {
        self.paint()?;
        let mut frame: Option<Instant> = None;
        while !self.is_over {
            // A clock is shown only while something is under way.
            let tick = self.app.is_busy.then(|| Instant::now() + TICK);
            tokio::select! {
                biased;
                () = at(frame) => {
                    self.paint()?;
                    frame = None;
                    continue;
                }
                typed = keys.recv() => match typed {
                    Some(typed) => self.typed(typed)?,
                    // Nobody can type any more.
                    None => self.is_over = true,
                },
                Some(order) = ordered.recv() => self.carry_out(order),
                notice = notices.next() => match notice {
                    Some(notice) => self.app.notice(&notice),
                    None => self.is_over = true,
                },
                () = at(tick) => {}
            }
            frame = frame.or(Some(Instant::now() + FRAME));
        }
        Ok(())
    }

    fn typed(&mut self, typed: Typed) -> io::Result<()> {
        match typed {
            Typed::Key(key) => {
                for wish in self.app.key(key) {
                    self.wish(wish);
                }
            }
            Typed::Resized(columns, rows) => {
                let bytes = self.painter.resize(columns);
                self.screen.write(&bytes)?;
                self.app.width = columns;
                self.rows = rows;
            }
        }
        Ok(())
    }

    fn wish(&mut self, wish: Wish) {
        match wish {
            Wish::Submit(prompt) => {
                let (ordering, orders) = (self.host.order(prompt), self.orders.clone());
                tokio::spawn(async move {
                    // Nobody waits for it any more when the conversation is over.
                    let _ = orders.send(ordering.await).await;
                });
            }
            Wish::Answer(ticket, answer) => self.told(self.session.answer(ticket, answer)),
            Wish::Interrupt => self.told(self.session.interrupt(Interrupt::User)),
            Wish::Quit => self.is_over = true,
        }
    }

    fn carry_out(&mut self, order: Result<Order, String>) {
        match order {
            Ok(Order::Say(submission)) => self.told(self.session.submit(submission)),
            Ok(Order::Compact(focus)) => self.told(self.session.compact(focus)),
            Ok(Order::Show(words)) => self.app.say(&words, Role::Plain),
            Ok(Order::Quit) => self.is_over = true,
            Err(problem) => self.app.say(&problem, Role::Warning),
        }
    }

    fn told<E: std::fmt::Display>(&mut self, sent: Result<(), E>) {
        if let Err(error) = sent {
            self.app.say(&error.to_string(), Role::Bad);
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        self.app.now = self.began.elapsed();
        let finished = self.app.take_finished();
        let (live, cursor) = view::live(&self.app, self.rows);
        let bytes = self.painter.paint(&finished, &live, cursor);
        self.screen.write(&bytes)
    }

    /// Shows what is finished and takes the rest away.
    fn close(&mut self) -> io::Result<()> {
        let finished = self.app.take_finished();
        let bytes = self.painter.paint(&finished, &[], crate::painter::Cursor::default());
        self.screen.write(&bytes)?;
        let bytes = self.painter.clear();
        self.screen.write(&bytes)
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The shortest time between two drawings.
const FRAME: Duration = Duration::from_millis(12);
/// How often a clock is shown anew.
const TICK: Duration = Duration::from_millis(250);
const KEYS_MAX: usize = 1_024;
const ORDERS_MAX: usize = 16;
