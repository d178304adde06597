//! What a client says is heard, and what it asks beside the conversation is answered: at once, when
//! the session is there, or when the work for it is done beside the desk.

use serde_json::Value;
use tokio::sync::oneshot;

use super::EventLoop;
use crate::client_mcp_servers;
use crate::control;
use crate::control::ControlOutcome;
use crate::frame::{ControlReply, IncomingFrame, OutgoingFrame};

impl EventLoop {
    /// One line of the client's.
    pub(super) async fn on_incoming_frame(&mut self, line: IncomingFrame) {
        match line {
            IncomingFrame::User(prompt) => self.enqueue_prompt(*prompt),
            IncomingFrame::ControlRequest { request_id, request } => {
                if control::needs_session(&request) && !self.is_ready() {
                    self.parked_requests.push((request_id, request));
                } else {
                    self.serve_request(request_id, &request).await;
                }
            }
            IncomingFrame::ControlResponse { response } => self.on_client_response(&response),
            // Every request is answered at once, so there is nothing left to withdraw.
            IncomingFrame::ControlCancelRequest {} => {}
            IncomingFrame::KeepAlive | IncomingFrame::Other => {}
        }
    }

    /// Serves one request.
    async fn serve_request(&mut self, request_id: String, request: &Value) {
        match control::serve_control_request(self, request).await {
            ControlOutcome::Now(outcome) => self.send_response(request_id, outcome),
            ControlOutcome::Later(work) => {
                self.requests_in_progress += 1;
                let port = self.client_channel.clone();
                tokio::spawn(async move { port.send_completion(request_id, work.await).await });
            }
        }
    }

    /// Answers one request.
    pub(super) fn send_response(&mut self, request_id: String, outcome: Result<Value, String>) {
        let response = ControlReply::from_outcome(request_id, outcome);
        self.frame_writer.write_frame(&OutgoingFrame::ControlResponse { response });
    }

    /// Can the session begin? The tools of servers inside the client belong to it from the start, so
    /// they are waited for; meanwhile the client is heard.
    pub(super) fn is_ready(&mut self) -> bool {
        if self.live_session.is_some() || self.client_servers_ready.is_some() {
            return self.client_servers_ready.is_none();
        }
        let Some(plan) = self.plan.as_ref().filter(|_| !self.are_client_servers_connected) else {
            return true;
        };
        self.are_client_servers_connected = true;
        let names = client_mcp_servers::list_client_server_names(
            &self.args,
            &self.initialize_options.client_servers,
        );
        if names.is_empty() {
            return true;
        }
        client_mcp_servers::connect_client_servers(
            &plan.mcp_servers,
            &names,
            &self.client_channel,
            &self.client_server_inboxes,
        );
        let (ring, settling) = oneshot::channel();
        let servers = plan.mcp_servers.clone();
        tokio::spawn(async move {
            client_mcp_servers::await_connected(servers, names).await;
            let _ = ring.send(());
        });
        self.client_servers_ready = Some(settling);
        false
    }

    /// The servers inside the client are there, or will not be.
    pub(super) async fn on_client_servers_ready(&mut self) {
        self.client_servers_ready = None;
        for (request_id, request) in std::mem::take(&mut self.parked_requests) {
            self.serve_request(request_id, &request).await;
        }
    }
}

/// Waits for the servers inside the client.
pub(super) async fn await_client_servers(settling: &mut Option<oneshot::Receiver<()>>) {
    match settling {
        // However it ends, there is nothing more to wait for.
        Some(settling) => drop(settling.await),
        None => std::future::pending().await,
    }
}
