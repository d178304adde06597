//! One call of a tool, over as many rounds as the server needs to ask back.
//!
//! A call that is given up is cancelled on the server too; whatever still comes of it is ignored.

use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest,
    InputRequiredResult, InputResponses, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{CallReply, CallTerms, Connection, failed};
use crate::failure::Failure;

/// How often a server may ask back.
const ROUNDS_MAX: usize = 10;
/// Between rounds in which nothing was asked.
const PAUSE: Duration = Duration::from_millis(250);
/// How long word of a cancelled call may take to get out.
const WORD_MAX: Duration = Duration::from_secs(1);

/// What one round came to.
enum Round {
    Done(Box<CallToolResult>),
    Asked(InputRequiredResult),
}

impl Connection {
    pub(super) async fn call_rounds(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        terms: &CallTerms,
    ) -> Result<CallReply, Failure> {
        let deadline = Instant::now() + terms.limit;
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..ROUNDS_MAX {
            match self.round(params.clone(), deadline, terms).await? {
                Round::Done(result) => return Ok((*result).into()),
                Round::Asked(asked) => {
                    params.request_state.clone_from(&asked.request_state);
                    params.input_responses = self.replies(asked, deadline, terms).await?;
                }
            }
        }
        Err(Failure::Nonsense { reason: format!("it asked back {ROUNDS_MAX} times") })
    }

    async fn round(
        &self,
        params: CallToolRequestParams,
        deadline: Instant,
        terms: &CallTerms,
    ) -> Result<Round, Failure> {
        let what = format!("the call of `{}`", params.name);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending =
            self.running.send_request_with_option(request, PeerRequestOptions::no_options());
        let mut handle = self.bounded(&what, terms.limit, sending).await?;
        let client = self.running.service();
        let mut progress = client.watch(handle.progress_token.clone());
        let ended = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break Ok(answer),
                () = terms.cancel.cancelled() => break Err(Failure::Cancelled),
                () = self.health.gone().cancelled() => {
                    break Err(Failure::Gone { reason: self.health.reason() });
                }
                () = tokio::time::sleep_until(deadline) => {
                    break Err(Failure::TimedOut { what, after: terms.limit });
                }
                Some(text) = progress.recv() => terms.progress.say(|| text),
            }
        };
        client.unwatch(&handle.progress_token);
        match ended {
            Ok(Ok(Ok(ServerResult::CallToolResult(result)))) => Ok(Round::Done(Box::new(result))),
            Ok(Ok(Ok(ServerResult::InputRequiredResult(asked)))) => Ok(Round::Asked(asked)),
            Ok(Ok(Ok(_))) => {
                Err(Failure::Nonsense { reason: "the answer to a call is not one".to_owned() })
            }
            Ok(Ok(Err(error))) => Err(failed(&error, &self.health)),
            Ok(Err(_)) => Err(failed(&ServiceError::TransportClosed, &self.health)),
            Err(failure) => {
                give_up(handle, &failure).await;
                Err(failure)
            }
        }
    }

    /// Answers what the server asked back.
    async fn replies(
        &self,
        asked: InputRequiredResult,
        deadline: Instant,
        terms: &CallTerms,
    ) -> Result<Option<InputResponses>, Failure> {
        let requests = asked.input_requests.unwrap_or_default();
        let mut replies = InputResponses::new();
        let answering = async {
            if requests.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            for (key, request) in requests {
                replies.insert(key, self.reply(request).await?);
            }
            Ok(())
        };
        tokio::select! {
            biased;
            answered = answering => answered?,
            () = terms.cancel.cancelled() => return Err(Failure::Cancelled),
            () = tokio::time::sleep_until(deadline) => {
                let what = "what the server asked back".to_owned();
                return Err(Failure::TimedOut { what, after: terms.limit });
            }
        }
        Ok((!replies.is_empty()).then_some(replies))
    }

    async fn reply(&self, request: InputRequest) -> Result<Value, Failure> {
        let client = self.running.service();
        let reply = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(client.ask(request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(client.roots()),
            _ => {
                let reason = "it asked for a model's answer, which is not offered".to_owned();
                return Err(Failure::Nonsense { reason });
            }
        };
        reply.map_err(|error| Failure::Nonsense { reason: error.to_string() })
    }
}

/// Tells the server that nobody waits any more, where it can still be told.
async fn give_up(handle: RequestHandle<RoleClient>, failure: &Failure) {
    if !matches!(failure, Failure::Gone { .. }) {
        let reason = Some(failure.to_string());
        let _ = tokio::time::timeout(WORD_MAX, handle.cancel(reason)).await;
    }
}
