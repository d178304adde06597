//! A session's frames as server-sent events: those after a given position, then new ones.
//!
//! A stored frame's number is its event id, so a client that reconnects to any gateway resumes where
//! it was and misses nothing. With `live=true` the pieces of answers come between them as the session
//! writes them; their ids also have the claim and their place in it. The last event is named `end` and
//! has the session's state.

use std::fmt::{Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;

use super::GatewayContext;
use super::body::GatewayBody;
use super::http_error::text_response;
use super::tenant_streams::CountedStream;
use crate::live::live_mirror::LiveMirror;
use crate::live::session_tail::{LiveCursor, TailReader};
use crate::store::{SessionRow, TokenRole};

/// Where a client is in a stream: the id of the last event it got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The number of the last stored frame.
    stored: u64,
    /// The last live frame after it.
    live: Option<LiveCursor>,
}

impl StreamPosition {
    /// `17`, or `17-3-42` for a live frame after it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let stored = parts.next()?.parse().ok()?;
        let live = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(epoch), Some(index), None) => {
                Some(LiveCursor { epoch: epoch.parse().ok()?, index: index.parse().ok()? })
            }
            (Some(_), _, _) => return None,
        };
        Some(Self { stored, live })
    }
}

impl Display for StreamPosition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self.live {
            None => write!(formatter, "{}", self.stored),
            Some(LiveCursor { epoch, index }) => {
                write!(formatter, "{}-{epoch}-{index}", self.stored)
            }
        }
    }
}

pub(crate) struct AskedStream {
    pub(crate) session: String,
    pub(crate) after: StreamPosition,
    /// Whether to go on until the session ends.
    pub(crate) follows: bool,
    /// Whether to send pieces of answers, too.
    pub(crate) is_live: bool,
    /// Who asks: a token that is removed or expires ends the stream.
    pub(crate) token: String,
}

pub(crate) fn follow_events(
    context: &Arc<GatewayContext>,
    counted: CountedStream,
    asked: AskedStream,
) -> Response<GatewayBody> {
    context.metrics.count_stream();
    let (sender, receiver) = mpsc::channel(CHANNEL_FRAMES);
    let stream = EventStream {
        context: Arc::clone(context),
        sender,
        _counted: counted,
        at: asked.after,
        session_stored: asked.after.stored,
        asked,
        live: None,
        silence: 0,
        token_checked: Instant::now(),
    };
    tokio::spawn(stream.run());
    let mut response = text_response(StatusCode::OK, "text/event-stream", String::new());
    *response.body_mut() = GatewayBody::Events(receiver);
    response
}

struct EventStream {
    context: Arc<GatewayContext>,
    asked: AskedStream,
    sender: mpsc::Sender<Bytes>,
    _counted: CountedStream,
    at: StreamPosition,
    /// The number of the last frame that the session itself wrote: live frames from before it are part
    /// of it.
    session_stored: u64,
    live: Option<TailSubscription>,
    /// Polls without an event.
    silence: u32,
    token_checked: Instant,
}

struct TailSubscription {
    reader: TailReader,
    /// Whether it has said anything, so that stored frames are worth holding for its marks.
    has_items: bool,
    /// Keeps the copy of the tail going.
    _mirror: Arc<LiveMirror>,
}

impl EventStream {
    async fn run(mut self) {
        let mut news = self.context.news.subscribe();
        let mut is_ending = self.context.is_ending.subscribe();
        loop {
            // Read before the events: frames added meanwhile are then still sent before `end`. When the
            // store cannot be read, the client reconnects and resumes.
            let Ok(Some(row)) = self.context.store.read_session(&self.asked.session).await else {
                return;
            };
            if !self.may_go_on(&row).await {
                return;
            }
            let is_over =
                !self.asked.follows || !matches!(row.state.as_str(), "queued" | "running");
            let was_live = self.live.is_some();
            self.follow_tail(&row);
            // A tail that was just found first says what comes before its items.
            let is_new = self.live.is_some() && !was_live;
            if (is_over || !is_new) && self.send_stored(u64::MAX).await.is_none() {
                return;
            }
            if is_over {
                let end = json!({ "state": row.state, "reason": row.reason });
                let _ = self.send(format!("event: end\ndata: {end}\n\n")).await;
                return;
            }
            let poll_end = Instant::now() + POLL;
            let mut stored_end = if is_new { Instant::now() + JOIN_WAIT } else { poll_end };
            loop {
                let is_closed = match self.send_live().await {
                    Some(is_open) => !is_open,
                    None => return,
                };
                if is_closed {
                    self.live = None;
                }
                let is_live = self.live.as_ref().is_some_and(|live| live.has_items);
                tokio::select! {
                    () = wait_for_items(&mut self.live) => {}
                    () = wait_for_news(&mut news, &self.asked.session) => match is_live {
                        false => break,
                        // The tail says in which order; if it says nothing, the store does.
                        true => stored_end = stored_end.min(Instant::now() + MARK_WAIT),
                    },
                    () = tokio::time::sleep_until(stored_end), if stored_end < poll_end => break,
                    () = tokio::time::sleep_until(poll_end) => {
                        if self.note_silence().await.is_none() {
                            return;
                        }
                        break;
                    }
                    _ = is_ending.changed() => return,
                    () = self.sender.closed() => return,
                }
            }
        }
    }

    /// Whether the token still may see the session. The client that reconnects is told if not.
    async fn may_go_on(&mut self, row: &SessionRow) -> bool {
        if self.token_checked.elapsed() < TOKEN_CHECK {
            return true;
        }
        self.token_checked = Instant::now();
        match self.context.store.find_token(&self.asked.token).await {
            Ok(Some(holder)) => holder.tenant == row.tenant || holder.role == TokenRole::Admin,
            Ok(None) => false,
            // A store that cannot be read gives the stream nothing either.
            Err(_) => true,
        }
    }

    /// Follows the tail of the claim that the session runs under.
    fn follow_tail(&mut self, row: &SessionRow) {
        if !self.asked.is_live || !self.asked.follows {
            return;
        }
        let epoch = u64::try_from(row.epoch).unwrap_or(0);
        if row.state != "running" {
            self.live = None;
        } else if self.live.as_ref().is_none_or(|live| live.reader.epoch() != epoch) {
            let mirror = self.context.live.follow(&self.asked.session, epoch);
            let cursor = self.at.live;
            self.live = mirror.map(|mirror| TailSubscription {
                reader: TailReader::new(Arc::clone(&mirror.tail), cursor),
                has_items: false,
                _mirror: mirror,
            });
        }
    }

    /// Sends stored frames up to this number. `None` if the client is gone or the store fails.
    async fn send_stored(&mut self, up_to: u64) -> Option<()> {
        while self.at.stored < up_to {
            let session = &self.asked.session;
            let events =
                self.context.store.read_events(session, self.at.stored, PAGE).await.ok()?;
            let is_last_page = events.len() < PAGE as usize;
            for (number, frame) in events {
                if number > up_to {
                    return Some(());
                }
                self.at = StreamPosition { stored: number, live: None };
                if !frame.contains(ANSWER_MARK) {
                    self.session_stored = number;
                }
                self.send(format!("id: {number}\ndata: {frame}\n\n")).await?;
            }
            if is_last_page {
                break;
            }
        }
        Some(())
    }

    /// Sends the live frames that are there, each after the stored frames before it. Returns whether
    /// more may come; `None` if the client is gone or the store fails.
    async fn send_live(&mut self) -> Option<bool> {
        let Some(live) = &mut self.live else { return Some(true) };
        let epoch = live.reader.epoch();
        let (items, is_open) = live.reader.read();
        live.has_items |= !items.is_empty();
        for one in items {
            let item = &one.item;
            self.send_stored(item.after).await?;
            // What a stored frame has already said is left out.
            let Some(frame) = &item.frame else { continue };
            if one.is_whole && item.after >= self.session_stored {
                self.at.live = Some(LiveCursor { epoch, index: item.index });
                self.send(format!("id: {}\ndata: {frame}\n\n", self.at)).await?;
            }
        }
        Some(is_open)
    }

    /// Proxies close silent connections, and a failed send detects a client that is gone.
    async fn note_silence(&mut self) -> Option<()> {
        self.silence += 1;
        if self.silence >= SILENT_POLLS {
            self.send(": alive\n\n".to_owned()).await?;
        }
        Some(())
    }

    /// `None` if the client is gone or does not read.
    async fn send(&mut self, text: String) -> Option<()> {
        self.silence = 0;
        let sent = tokio::time::timeout(SLOW_CLIENT_WAIT, self.sender.send(text.into())).await;
        sent.ok()?.ok()
    }
}

async fn wait_for_items(live: &mut Option<TailSubscription>) {
    match live {
        Some(live) => live.reader.wait_for_change().await,
        None => std::future::pending().await,
    }
}

async fn wait_for_news(news: &mut broadcast::Receiver<String>, session: &str) {
    loop {
        match news.recv().await {
            Ok(named) if named == session => return,
            Ok(_) => {}
            // The receiver lagged; one of the missed notifications may have been for this session.
            Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}

/// In frames that gateways add, between those of the session.
const ANSWER_MARK: &str = "\"permission_answered\"";
const CHANNEL_FRAMES: usize = 64;
const PAGE: u32 = 200;
const POLL: Duration = Duration::from_secs(3);
const SILENT_POLLS: u32 = 5;
/// How long a removed token may still see what it follows.
const TOKEN_CHECK: Duration = Duration::from_secs(10);
const SLOW_CLIENT_WAIT: Duration = Duration::from_secs(30);
/// How long stored frames wait for the beginning of the tail.
const JOIN_WAIT: Duration = Duration::from_millis(300);
/// How long a stored frame waits for the live frames before it.
const MARK_WAIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_written_as_they_are_read() {
        for text in ["0", "17", "17-3-42"] {
            assert_eq!(StreamPosition::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "x", "-1", "1-", "1-2", "1-2-", "1-2-3-4", "1-2-x", "99999999999999999999"]
        {
            assert_eq!(StreamPosition::parse(text), None, "{text}");
        }
    }
}
