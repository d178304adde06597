//! The script as a responder: sends what `response_planner` decides.

use std::io;

use windlass_http_request::HttpRequest;

use super::http;
use super::plan_runner::SocketPlanRunner;
use super::request_responder::{ClientSocket, ConnectionDisposition, RequestResponder};
use super::response_planner::{PlannedResponse, plan_response};
use super::script_player::ScriptPlayer;

impl RequestResponder for ScriptPlayer {
    const NAME: &'static str = "rehearsal";

    async fn answer_request(
        &self,
        request: HttpRequest,
        socket: &mut ClientSocket,
    ) -> io::Result<ConnectionDisposition> {
        match plan_response(self, &request) {
            PlannedResponse::Whole { status, headers, body } => {
                let bytes = http::encode_response(status, headers, &body);
                SocketPlanRunner::new(socket, bytes).run(Vec::new()).await
            }
            PlannedResponse::Actions { mut headers, acts } => {
                headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
                let head = http::encode_response_head(200, &headers);
                SocketPlanRunner::new(socket, head).run(acts).await
            }
            PlannedResponse::Drop { reset } => {
                if reset {
                    socket.stream.set_zero_linger()?;
                }
                Ok(ConnectionDisposition::Close)
            }
        }
    }
}
