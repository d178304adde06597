//! What we asked the client and are not answered yet.
//!
//! A [`Port`] is the way for everything that runs beside the desk (hooks, servers inside the client)
//! to ask: it waits for the answer within a limit, and whoever stops waiting withdraws the question.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windlass_vocabulary::Ticket;

use super::desk::Desk;
use super::frame::Request;

/// A way to ask the client something.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    questions: mpsc::Sender<Question>,
}

/// What comes over a port.
#[derive(Debug)]
pub(crate) enum Question {
    /// Somebody asks.
    Ask(Box<Request>, oneshot::Sender<Result<Value, String>>),
    /// Somebody stopped waiting; whose that was is seen at the closed channel.
    Withdrawn,
    /// A tool has decided about a call.
    Decided(Ticket, Value, Result<Value, String>),
    /// Work for a request of the client's is done; the rest is the desk's to do.
    Done(String, Finish),
}

/// What is left to do for a request when the waiting is over: it gives the answer.
pub(crate) struct Finish(pub(crate) Box<Rest>);

type Rest = dyn FnOnce(&mut Desk) -> Result<Value, String> + Send;

impl std::fmt::Debug for Finish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Finish")
    }
}

/// Rings when a question is dropped before it was answered.
struct Bell(mpsc::Sender<Question>);

impl Drop for Bell {
    fn drop(&mut self) {
        // When there is no room something else is on its way, which rings as well.
        let _ = self.0.try_send(Question::Withdrawn);
    }
}

impl Port {
    /// A port and the desk's end of it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Question>) {
        let (questions, inbox) = mpsc::channel(QUESTIONS_MAX);
        (Self { questions }, inbox)
    }

    /// A tool has decided.
    pub(crate) async fn decided(&self, ticket: Ticket, asked: Value, said: Result<Value, String>) {
        let _ = self.questions.send(Question::Decided(ticket, asked, said)).await;
    }

    /// Work for a request is done.
    pub(crate) async fn done(&self, request_id: String, finish: Finish) {
        // A desk that is gone answers nothing more.
        let _ = self.questions.send(Question::Done(request_id, finish)).await;
    }

    /// Asks, and waits so long.
    pub(crate) async fn ask(&self, request: Request, within: Duration) -> Result<Value, String> {
        let (answer, answered) = oneshot::channel();
        let _bell = Bell(self.questions.clone());
        let asked = async {
            let question = Question::Ask(Box::new(request), answer);
            self.questions.send(question).await.map_err(|_| GONE.to_owned())?;
            answered.await.unwrap_or_else(|_| Err(GONE.to_owned()))
        };
        match tokio::time::timeout(within, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the client did not answer within {} seconds", within.as_secs())),
        }
    }
}

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum Asker {
    /// The engine: may a call run?
    Permission(Ticket, Value),
    /// Somebody at a port.
    Port(oneshot::Sender<Result<Value, String>>),
}

/// What is open.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    count: u64,
    open: HashMap<String, (Asker, Option<Instant>)>,
}

impl Asks {
    /// Opens a question and gives it a name.
    pub(crate) fn open(&mut self, asker: Asker, until: Option<Instant>) -> String {
        self.count += 1;
        let name = format!("ask_{}", self.count);
        self.open.insert(name.clone(), (asker, until));
        name
    }

    /// It was answered.
    pub(crate) fn close(&mut self, name: &str) -> Option<Asker> {
        self.open.remove(name).map(|(asker, _)| asker)
    }

    /// The engine withdrew this one.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<String> {
        let is_it = |asker: &Asker| matches!(asker, Asker::Permission(it, _) if *it == ticket);
        let name = self.open.iter().find(|(_, (asker, _))| is_it(asker))?.0.clone();
        self.open.remove(&name);
        Some(name)
    }

    /// Those at ports that nobody waits for any more.
    pub(crate) fn dropped(&mut self) -> Vec<String> {
        let is_dropped = |asker: &Asker| matches!(asker, Asker::Port(answer) if answer.is_closed());
        let names: Vec<String> = self
            .open
            .iter()
            .filter(|(_, (asker, _))| is_dropped(asker))
            .map(|(name, _)| name.clone())
            .collect();
        names.iter().for_each(|name| drop(self.open.remove(name)));
        names
    }

    /// When the next one is overdue.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(|(_, until)| *until).min()
    }

    /// Those that are overdue now.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<(String, Asker)> {
        let late = |until: &Option<Instant>| until.is_some_and(|until| until <= now);
        self.take(|(_, until)| late(until))
    }

    /// All of them: nobody will answer.
    pub(crate) fn all(&mut self) -> Vec<(String, Asker)> {
        self.take(|_| true)
    }

    /// Does the engine wait for somebody?
    pub(crate) fn are_permissions_open(&self) -> bool {
        self.open.values().any(|(asker, _)| matches!(asker, Asker::Permission(..)))
    }

    fn take(
        &mut self,
        is_meant: impl Fn(&(Asker, Option<Instant>)) -> bool,
    ) -> Vec<(String, Asker)> {
        let names: Vec<String> = self
            .open
            .iter()
            .filter(|(_, entry)| is_meant(entry))
            .map(|(name, _)| name.clone())
            .collect();
        let taken = names.into_iter().filter_map(|name| {
            let (asker, _) = self.open.remove(&name)?;
            Some((name, asker))
        });
        taken.collect()
    }
}

/// Said when no answer can come any more.
pub(crate) const GONE: &str = "the client is gone";
const QUESTIONS_MAX: usize = 256;
