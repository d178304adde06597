//! What a client says is heard, and what it asks beside the conversation is answered: at once, when
//! the session is there, or when the work for it is done beside the desk.

use serde_json::Value;
use tokio::sync::oneshot;

use super::Desk;
use crate::front::stream_json::control::{self, Served};
use crate::front::stream_json::frame::{Frame, Incoming, Reply};
use crate::front::stream_json::inside;

impl Desk {
    /// One line of the client's.
    pub(super) async fn heard(&mut self, line: Incoming) {
        match line {
            Incoming::User(prompt) => self.prompted(*prompt),
            Incoming::ControlRequest { request_id, request } => {
                if control::needs_session(&request) && !self.is_ready() {
                    self.parked.push((request_id, request));
                } else {
                    self.request(request_id, &request).await;
                }
            }
            Incoming::ControlResponse { response } => self.answered(&response),
            // Every request is answered at once, so there is nothing left to withdraw.
            Incoming::ControlCancelRequest {} => {}
            Incoming::KeepAlive | Incoming::Other => {}
        }
    }

    /// Serves one request.
    async fn request(&mut self, request_id: String, request: &Value) {
        match control::serve(self, request).await {
            Served::Now(outcome) => self.respond(request_id, outcome),
            Served::Later(work) => {
                self.serving += 1;
                let port = self.port.clone();
                tokio::spawn(async move { port.done(request_id, work.await).await });
            }
        }
    }

    /// Answers one request.
    pub(super) fn respond(&mut self, request_id: String, outcome: Result<Value, String>) {
        let response = Reply::of(request_id, outcome);
        self.pipe.put(&Frame::ControlResponse { response });
    }

    /// Can the session begin? The tools of servers inside the client belong to it from the start, so
    /// they are waited for; meanwhile the client is heard.
    pub(super) fn is_ready(&mut self) -> bool {
        if self.stage.is_some() || self.settling.is_some() {
            return self.settling.is_none();
        }
        let Some(plan) = self.plan.as_ref().filter(|_| !self.are_inside_asked) else {
            return true;
        };
        self.are_inside_asked = true;
        let names = inside::names(&self.args, &self.wishes.servers);
        if names.is_empty() {
            return true;
        }
        inside::connect(&plan.remote, &names, &self.port, &self.ears);
        let (ring, settling) = oneshot::channel();
        let servers = plan.remote.clone();
        tokio::spawn(async move {
            inside::settled(servers, names).await;
            let _ = ring.send(());
        });
        self.settling = Some(settling);
        false
    }

    /// The servers inside the client are there, or will not be.
    pub(super) async fn settled(&mut self) {
        self.settling = None;
        for (request_id, request) in std::mem::take(&mut self.parked) {
            self.request(request_id, &request).await;
        }
    }
}

/// Waits for the servers inside the client.
pub(super) async fn settled(settling: &mut Option<oneshot::Receiver<()>>) {
    match settling {
        // However it ends, there is nothing more to wait for.
        Some(settling) => drop(settling.await),
        None => std::future::pending().await,
    }
}
