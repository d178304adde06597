//! A session's frames as server-sent events: those after a given number, then new ones.
//!
//! A frame's number is its event id, so a client that reconnects to any gateway resumes where it
//! was and misses nothing. The last event is named `end` and has the session's state.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::sync::{broadcast, mpsc};

use super::GatewayContext;
use super::body::GatewayBody;
use super::http_error::text_response;
use super::tenant_streams::CountedStream;

pub(crate) fn follow_events(
    context: &Arc<GatewayContext>,
    counted: CountedStream,
    session: String,
    after: u64,
    follows: bool,
) -> Response<GatewayBody> {
    context.metrics.count_stream();
    let (sender, receiver) = mpsc::channel(CHANNEL_FRAMES);
    let stream = EventStream { context: Arc::clone(context), session, sender, _counted: counted };
    tokio::spawn(stream.run(after, follows));
    let mut response = text_response(StatusCode::OK, "text/event-stream", String::new());
    *response.body_mut() = GatewayBody::Events(receiver);
    response
}

struct EventStream {
    context: Arc<GatewayContext>,
    session: String,
    sender: mpsc::Sender<Bytes>,
    _counted: CountedStream,
}

impl EventStream {
    async fn run(self, mut after: u64, follows: bool) {
        let mut news = self.context.news.subscribe();
        let mut is_ending = self.context.is_ending.subscribe();
        let mut silence = 0;
        loop {
            // Read before the events: frames added meanwhile are then still sent before `end`.
            let Ok(row) = self.context.store.read_session(&self.session).await else {
                // The client reconnects and resumes.
                return;
            };
            let Some(row) = row else { return };
            let is_over = !follows || !matches!(row.state.as_str(), "queued" | "running");
            loop {
                let events = self.context.store.read_events(&self.session, after, PAGE).await;
                let Ok(events) = events else { return };
                let is_last_page = events.len() < PAGE as usize;
                for (number, frame) in events {
                    after = number;
                    silence = 0;
                    if !self.send(format!("id: {number}\ndata: {frame}\n\n")).await {
                        return;
                    }
                }
                if is_last_page {
                    break;
                }
            }
            if is_over {
                let end = json!({ "state": row.state, "reason": row.reason });
                self.send(format!("event: end\ndata: {end}\n\n")).await;
                return;
            }
            tokio::select! {
                () = wait_for_news(&mut news, &self.session) => {}
                () = tokio::time::sleep(POLL) => {
                    silence += 1;
                    // Keep-alive: proxies close silent connections, and a failed send detects a
                    // client that is gone.
                    if silence % SILENT_POLLS == 0 && !self.send(": alive\n\n".to_owned()).await {
                        return;
                    }
                }
                _ = is_ending.changed() => return,
                () = self.sender.closed() => return,
            }
        }
    }

    /// Returns false if the client is gone or does not read.
    async fn send(&self, text: String) -> bool {
        let sent = tokio::time::timeout(SLOW_CLIENT_WAIT, self.sender.send(text.into())).await;
        matches!(sent, Ok(Ok(())))
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

const CHANNEL_FRAMES: usize = 64;
const PAGE: u32 = 200;
const POLL: Duration = Duration::from_secs(3);
const SILENT_POLLS: u32 = 5;
const SLOW_CLIENT_WAIT: Duration = Duration::from_secs(30);
