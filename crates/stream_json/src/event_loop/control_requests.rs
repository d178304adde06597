//! Control requests of the client are answered: at once, when the session is there, or when the work for
//! them is done outside the event loop.

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::EventLoop;
use crate::client_mcp_servers;
use crate::control;
use crate::control::{ControlOutcome, ControlRequest, RequestCompletion};
use crate::frame::{ControlReply, IncomingFrame, OutgoingFrame};
use crate::session_phase::SessionPhase;

/// Requests of the client that are not answered yet.
#[derive(Default)]
pub(crate) struct ControlRequests {
    in_progress: JoinSet<CompletedRequest>,
    /// Wait for the session to start, in the order they came.
    parked: Vec<(String, ControlRequest)>,
    /// Receives the answer to the pending `side_question`.
    pub(crate) side_question: Option<oneshot::Sender<Result<String, String>>>,
}

/// A request whose work is done; the completion runs in the event loop.
pub(super) struct CompletedRequest {
    request_id: String,
    completion: RequestCompletion,
}

impl ControlRequests {
    pub(super) fn is_idle(&self) -> bool {
        self.parked.is_empty() && self.in_progress.is_empty()
    }

    /// The next request whose work is done; `None` if none is in progress.
    pub(super) async fn next_completed(&mut self) -> Option<CompletedRequest> {
        loop {
            if let Ok(completed) = self.in_progress.join_next().await? {
                return Some(completed);
            }
        }
    }
}

impl EventLoop {
    pub(super) async fn on_incoming_frame(&mut self, frame: IncomingFrame) {
        match frame {
            IncomingFrame::User(prompt) => self.enqueue_prompt(*prompt),
            IncomingFrame::ControlRequest { request_id, request } => {
                match ControlRequest::parse(&request) {
                    Err(why) => self.send_response(request_id, Err(why)),
                    Ok(request) if request.needs_session() && !self.is_ready() => {
                        self.control.parked.push((request_id, request));
                    }
                    Ok(request) => self.serve_request(request_id, request).await,
                }
            }
            IncomingFrame::ControlResponse { response } => self.on_client_response(&response),
            // Every request is answered at once, so there is nothing left to withdraw.
            IncomingFrame::ControlCancelRequest {} => {}
            IncomingFrame::KeepAlive | IncomingFrame::Other => {}
        }
    }

    async fn serve_request(&mut self, request_id: String, request: ControlRequest) {
        match control::serve_control_request(self, request).await {
            ControlOutcome::Now(outcome) => self.send_response(request_id, outcome),
            ControlOutcome::Later(work) => {
                self.control
                    .in_progress
                    .spawn(async move { CompletedRequest { request_id, completion: work.await } });
            }
        }
    }

    pub(super) fn on_request_completed(&mut self, request: CompletedRequest) {
        let outcome = (request.completion)(self);
        self.send_response(request.request_id, outcome);
    }

    /// Serves the requests that waited for the session to start.
    pub(super) async fn serve_parked_requests(&mut self) {
        if self.session.is_opening() {
            return;
        }
        for (request_id, request) in std::mem::take(&mut self.control.parked) {
            self.serve_request(request_id, request).await;
        }
    }

    fn send_response(&mut self, request_id: String, outcome: Result<Value, String>) {
        let response = ControlReply::from_outcome(request_id, outcome);
        self.output.frame_writer.write_frame(&OutgoingFrame::ControlResponse { response });
    }

    /// Can the session start? If not, the MCP servers inside the client are connected first; meanwhile
    /// the client is served.
    pub(super) fn is_ready(&mut self) -> bool {
        match &mut self.session {
            SessionPhase::Opening { .. } => return false,
            SessionPhase::Live(_)
            | SessionPhase::Lost(_)
            | SessionPhase::Planned { are_client_servers_connected: true, .. } => return true,
            SessionPhase::Planned { are_client_servers_connected, .. } => {
                *are_client_servers_connected = true;
            }
        }
        let names = client_mcp_servers::list_client_server_names(
            &self.args,
            &self.initialize_options.client_servers,
        );
        if names.is_empty() {
            return true;
        }
        let Some(plan) = self.session.take_plan() else {
            return true;
        };
        self.client_servers.connect(&plan.mcp_servers, &names, &self.client.channel);
        let (ready, client_servers_ready) = oneshot::channel();
        let servers = plan.mcp_servers.clone();
        tokio::spawn(async move {
            client_mcp_servers::await_connected(servers, names).await;
            let _ = ready.send(());
        });
        self.session = SessionPhase::Opening { plan, client_servers_ready };
        false
    }

    /// The servers inside the client are connected, or will not be.
    pub(super) fn on_client_servers_ready(&mut self) {
        if let Some(plan) = self.session.take_plan() {
            self.session = SessionPhase::Planned { plan, are_client_servers_connected: true };
        }
    }
}
