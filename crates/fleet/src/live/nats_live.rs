//! Live text over NATS: workers publish the items of their tails, and answer who asks for a whole
//! tail; a gateway asks once for each session it follows, and takes the items that are published from
//! then on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_host::random;
use windlass_nats::{
    NatsConnection, NatsDelivery, NatsMessage, NatsReader, NatsServer, NatsWriter,
};

use super::AbortedOnDrop;
use super::live_sessions::{LiveSessions, TailNews};
use super::session_tail::{SessionTail, TailItem};
use crate::worker::report_line;

/// Publishes the tails of this worker, connecting again after breaks.
pub(crate) async fn publish_tails(
    server: NatsServer,
    sessions: Arc<LiveSessions>,
    mut news: mpsc::Receiver<TailNews>,
) {
    let mut pause = PAUSE_MIN;
    loop {
        match server.connect().await {
            Ok(connection) => {
                pause = PAUSE_MIN;
                let ended = TailPublisher::new(connection, &sessions).run(&mut news).await;
                let Err(words) = ended else { return };
                report_line(&format!("live text is not published: {server:?}: {words}"));
            }
            Err(words) => report_line(&format!("live text is not published: {server:?}: {words}")),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
        // What waited meanwhile is of no use any more.
        while news.try_recv().is_ok() {}
    }
}

fn to_subject(session: &str, epoch: u64) -> String {
    format!("windlass.live.{session}.{epoch}")
}

fn to_asking_subject(session: &str, epoch: u64) -> String {
    format!("windlass.ask.{session}.{epoch}")
}

/// Reads in a task of its own, because a read that is dropped halfway loses what it read.
fn spawn_reader(mut reader: NatsReader) -> (mpsc::Receiver<NatsMessage>, AbortedOnDrop) {
    let (sender, receiver) = mpsc::channel(CHANNEL_MESSAGES);
    let reading = tokio::spawn(async move {
        while let Ok(Some(message)) = reader.next().await {
            if sender.send(message).await.is_err() {
                return;
            }
        }
    });
    (receiver, AbortedOnDrop(reading))
}

struct TailPublisher<'a> {
    sessions: &'a LiveSessions,
    messages: mpsc::Receiver<NatsMessage>,
    _reading: AbortedOnDrop,
    writer: NatsWriter,
    /// The sessions whose tail others may ask for, by subscription.
    asked: BTreeMap<u64, (String, u64)>,
    next: u64,
}

impl<'a> TailPublisher<'a> {
    fn new(connection: NatsConnection, sessions: &'a LiveSessions) -> Self {
        let (messages, reading) = spawn_reader(connection.reader);
        Self {
            sessions,
            messages,
            _reading: reading,
            writer: connection.writer,
            asked: BTreeMap::new(),
            next: 1,
        }
    }

    /// `Ok` when the worker ends.
    async fn run(mut self, news: &mut mpsc::Receiver<TailNews>) -> Result<(), String> {
        for (session, epoch) in self.sessions.list() {
            self.offer(session, epoch).await?;
        }
        self.writer.flush().await?;
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                item = news.recv() => {
                    let Some(item) = item else { return Ok(()) };
                    self.publish(item).await?;
                    // What is there already goes with it in one packet.
                    while let Ok(item) = news.try_recv() {
                        self.publish(item).await?;
                    }
                    self.writer.flush().await?;
                }
                message = self.messages.recv() => match message {
                    Some(NatsMessage::Delivery(asked)) => self.answer(asked).await?,
                    Some(NatsMessage::Ping) => self.writer.pong().await?,
                    Some(NatsMessage::Error(words)) => return Err(words),
                    Some(NatsMessage::Pong | NatsMessage::Info(_)) => {}
                    None => return Err("the connection broke".to_owned()),
                },
                _ = beat.tick() => self.writer.ping().await?,
            }
        }
    }

    async fn offer(&mut self, session: String, epoch: u64) -> Result<(), String> {
        // Twice is harmless: an answer that was there already is skipped.
        let number = self.next;
        self.next += 1;
        self.writer.subscribe(&to_asking_subject(&session, epoch), number).await?;
        self.asked.insert(number, (session, epoch));
        Ok(())
    }

    async fn publish(&mut self, news: TailNews) -> Result<(), String> {
        match news {
            TailNews::Opened { session, epoch } => self.offer(session, epoch).await,
            TailNews::Item { session, epoch, item } => {
                self.publish_item(&to_subject(&session, epoch), &item).await
            }
            TailNews::Closed { session, epoch } => {
                let is_it = |(_, (id, of)): &(&u64, &(String, u64))| *id == session && *of == epoch;
                let numbers: Vec<u64> =
                    self.asked.iter().filter(is_it).map(|(number, _)| *number).collect();
                for number in numbers {
                    self.asked.remove(&number);
                    self.writer.unsubscribe(number).await?;
                }
                Ok(())
            }
        }
    }

    async fn publish_item(&mut self, subject: &str, item: &TailItem) -> Result<(), String> {
        let payload = serde_json::to_vec(item).map_err(|error| error.to_string())?;
        // One that the server does not take is a gap for readers.
        if payload.len() > self.writer.payload_max {
            return Ok(());
        }
        self.writer.publish(subject, None, &payload).await
    }

    async fn answer(&mut self, asked: NatsDelivery) -> Result<(), String> {
        let NatsDelivery { subscription, reply_to, .. } = asked;
        let (Some(reply_to), Some((session, epoch))) =
            (reply_to, self.asked.get(&subscription).cloned())
        else {
            return Ok(());
        };
        let Some(tail) = self.sessions.find(&session, epoch) else { return Ok(()) };
        for item in tail.snapshot() {
            self.publish_item(&reply_to, &item).await?;
        }
        // An empty message is the end of the answer.
        self.writer.publish(&reply_to, None, b"").await?;
        self.writer.flush().await
    }
}

/// What a gateway tells the task that has its connection.
#[derive(Debug)]
pub(crate) enum FollowChange {
    Follow { session: String, tail: Arc<SessionTail> },
    Leave { tail: Arc<SessionTail> },
}

/// A gateway's connection to NATS.
#[derive(Debug)]
pub(crate) struct NatsFollower {
    pub(crate) changes: mpsc::UnboundedSender<FollowChange>,
    _following: AbortedOnDrop,
}

impl NatsFollower {
    pub(crate) fn start(server: NatsServer) -> Self {
        let (changes, receiver) = mpsc::unbounded_channel();
        let following = follow_tails(server, receiver);
        Self { changes, _following: AbortedOnDrop(tokio::spawn(following)) }
    }
}

type FollowedTails = Vec<(String, Arc<SessionTail>)>;

async fn follow_tails(server: NatsServer, mut changes: mpsc::UnboundedReceiver<FollowChange>) {
    let mut tails = FollowedTails::new();
    let mut pause = PAUSE_MIN;
    loop {
        let words = match server.connect().await {
            Ok(connection) => {
                pause = PAUSE_MIN;
                match TailFollower::new(connection).run(&mut tails, &mut changes).await {
                    Ok(()) => return,
                    Err(words) => words,
                }
            }
            Err(words) => words,
        };
        report_line(&format!("live text is not followed: {server:?}: {words}"));
        let end = tokio::time::Instant::now() + pause;
        while let Ok(change) = tokio::time::timeout_at(end, changes.recv()).await {
            let Some(change) = change else { return };
            apply_change(&mut tails, change);
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn apply_change(tails: &mut FollowedTails, change: FollowChange) {
    match change {
        FollowChange::Follow { session, tail } => tails.push((session, tail)),
        FollowChange::Leave { tail } => tails.retain(|(_, other)| !Arc::ptr_eq(other, &tail)),
    }
}

struct TailFollower {
    messages: mpsc::Receiver<NatsMessage>,
    _reading: AbortedOnDrop,
    writer: NatsWriter,
    inbox: String,
    followed: BTreeMap<u64, FollowedTail>,
    next: u64,
}

struct FollowedTail {
    session: String,
    tail: Arc<SessionTail>,
    /// Whether the whole tail has come: what is published before that is part of it.
    has_all: bool,
}

impl TailFollower {
    fn new(connection: NatsConnection) -> Self {
        let (messages, reading) = spawn_reader(connection.reader);
        Self {
            messages,
            _reading: reading,
            writer: connection.writer,
            inbox: format!("_INBOX.windlass.{}", random::generate_uuid()),
            followed: BTreeMap::new(),
            // Odd numbers are inboxes, the even ones before them the published items.
            next: 2,
        }
    }

    /// `Ok` when the gateway ends.
    async fn run(
        mut self,
        tails: &mut FollowedTails,
        changes: &mut mpsc::UnboundedReceiver<FollowChange>,
    ) -> Result<(), String> {
        for (session, tail) in tails.iter() {
            self.follow(session.clone(), Arc::clone(tail)).await?;
        }
        let mut beat = tokio::time::interval(BEAT);
        let mut asking = tokio::time::interval(ASK_AGAIN);
        loop {
            tokio::select! {
                change = changes.recv() => {
                    let Some(change) = change else { return Ok(()) };
                    match &change {
                        FollowChange::Follow { session, tail } => {
                            self.follow(session.clone(), Arc::clone(tail)).await?;
                        }
                        FollowChange::Leave { tail } => self.leave(tail).await?,
                    }
                    apply_change(tails, change);
                }
                message = self.messages.recv() => match message {
                    Some(NatsMessage::Delivery(delivery)) => self.take(&delivery),
                    Some(NatsMessage::Ping) => self.writer.pong().await?,
                    Some(NatsMessage::Error(words)) => return Err(words),
                    Some(NatsMessage::Pong | NatsMessage::Info(_)) => {}
                    None => return Err("the connection broke".to_owned()),
                },
                _ = asking.tick() => self.ask_again().await?,
                _ = beat.tick() => self.writer.ping().await?,
            }
        }
    }

    async fn follow(&mut self, session: String, tail: Arc<SessionTail>) -> Result<(), String> {
        let number = self.next;
        self.next += 2;
        self.writer.subscribe(&to_subject(&session, tail.epoch), number).await?;
        self.writer.subscribe(&self.inbox_of(number), number + 1).await?;
        self.ask(number, &session, tail.epoch).await?;
        self.followed.insert(number, FollowedTail { session, tail, has_all: false });
        Ok(())
    }

    fn inbox_of(&self, number: u64) -> String {
        format!("{}.{number}", self.inbox)
    }

    async fn ask(&mut self, number: u64, session: &str, epoch: u64) -> Result<(), String> {
        let inbox = self.inbox_of(number);
        self.writer.publish(&to_asking_subject(session, epoch), Some(&inbox), b"").await?;
        self.writer.flush().await
    }

    /// The worker may not have been connected yet when it was asked.
    async fn ask_again(&mut self) -> Result<(), String> {
        let missing: Vec<(u64, String, u64)> = self
            .followed
            .iter()
            .filter(|(_, followed)| !followed.has_all)
            .map(|(number, followed)| (*number, followed.session.clone(), followed.tail.epoch))
            .collect();
        for (number, session, epoch) in missing {
            self.ask(number, &session, epoch).await?;
        }
        Ok(())
    }

    async fn leave(&mut self, tail: &Arc<SessionTail>) -> Result<(), String> {
        let is_it = |(_, one): &(&u64, &FollowedTail)| Arc::ptr_eq(&one.tail, tail);
        let numbers: Vec<u64> =
            self.followed.iter().filter(is_it).map(|(number, _)| *number).collect();
        for number in numbers {
            self.followed.remove(&number);
            self.writer.unsubscribe(number).await?;
            self.writer.unsubscribe(number + 1).await?;
        }
        self.writer.flush().await
    }

    fn take(&mut self, delivery: &NatsDelivery) {
        let is_answer = delivery.subscription % 2 == 1;
        let Some(followed) = self.followed.get_mut(&(delivery.subscription & !1)) else { return };
        if is_answer && delivery.payload.is_empty() {
            followed.has_all = true;
        } else if (is_answer || followed.has_all)
            && let Ok(item) = serde_json::from_slice::<TailItem>(&delivery.payload)
        {
            followed.tail.insert(item);
        }
    }
}

const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A dead connection shows when a ping cannot be written.
const BEAT: Duration = Duration::from_secs(20);
const ASK_AGAIN: Duration = Duration::from_secs(2);
const CHANNEL_MESSAGES: usize = 1024;
