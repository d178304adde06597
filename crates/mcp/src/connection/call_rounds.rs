//! Calls one tool, in as many rounds as the server needs to ask for input.
//!
//! A cancelled call is also cancelled on the server; results that arrive later are ignored.

use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest,
    InputRequiredResult, InputResponses, RequestParamsMeta, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use windlass_tool::running_time::RunningTimer;

use super::{McpCallOptions, McpCallReply, McpConnection, to_call_failure};
use crate::failure::McpFailure;

/// Limits how often a server may ask for input.
const ROUNDS_MAX: usize = 10;
/// Pause after a round in which the server asked for nothing.
const PAUSE: Duration = Duration::from_millis(250);
/// Limit for sending the cancellation of a call.
const CANCEL_NOTICE_MAX: Duration = Duration::from_secs(1);

/// The result of one round.
enum CallRound {
    Done(Box<CallToolResult>),
    InputRequired(InputRequiredResult),
}

impl McpConnection {
    pub(super) async fn call_rounds(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        terms: &McpCallOptions,
    ) -> Result<McpCallReply, McpFailure> {
        let mut timer = RunningTimer::new(terms.limit);
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if let Some(trace) = &terms.trace_context {
            params.set_traceparent(&trace.traceparent);
            if let Some(state) = &trace.tracestate {
                params.set_tracestate(state);
            }
        }
        for _ in 0..ROUNDS_MAX {
            match self.run_round(params.clone(), &mut timer, terms).await? {
                CallRound::Done(result) => return Ok((*result).into()),
                CallRound::InputRequired(input_required) => {
                    params.request_state.clone_from(&input_required.request_state);
                    params.input_responses =
                        self.answer_input_requests(input_required, &mut timer, terms).await?;
                }
            }
        }
        Err(McpFailure::ProtocolViolation { reason: format!("it asked back {ROUNDS_MAX} times") })
    }

    async fn run_round(
        &self,
        params: CallToolRequestParams,
        timer: &mut RunningTimer,
        terms: &McpCallOptions,
    ) -> Result<CallRound, McpFailure> {
        let what = format!("the call of `{}`", params.name);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending =
            self.running.send_request_with_option(request, PeerRequestOptions::no_options());
        let mut handle = self.await_answer(&what, terms.limit, sending).await?;
        let client = self.running.service();
        let mut progress = client.watch_progress(handle.progress_token.clone());
        let ended = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break Ok(answer),
                () = terms.cancel.cancelled() => break Err(McpFailure::Cancelled),
                () = self.health.gone_token().cancelled() => {
                    break Err(McpFailure::Gone { reason: self.health.reason() });
                }
                () = &mut *timer => {
                    break Err(McpFailure::TimedOut { what, after: terms.limit });
                }
                Some(text) = progress.recv() => terms.progress.report(|| text),
            }
        };
        client.unwatch_progress(&handle.progress_token);
        match ended {
            Ok(Ok(Ok(ServerResult::CallToolResult(result)))) => {
                Ok(CallRound::Done(Box::new(result)))
            }
            Ok(Ok(Ok(ServerResult::InputRequiredResult(input_required)))) => {
                Ok(CallRound::InputRequired(input_required))
            }
            Ok(Ok(Ok(_))) => Err(McpFailure::ProtocolViolation {
                reason: "the answer to a call is not one".to_owned(),
            }),
            Ok(Ok(Err(error))) => Err(to_call_failure(&error, &self.health)),
            Ok(Err(_)) => Err(to_call_failure(&ServiceError::TransportClosed, &self.health)),
            Err(failure) => {
                cancel_on_server(handle, &failure).await;
                Err(failure)
            }
        }
    }

    /// Answers the input requests of the server.
    async fn answer_input_requests(
        &self,
        input_required: InputRequiredResult,
        timer: &mut RunningTimer,
        terms: &McpCallOptions,
    ) -> Result<Option<InputResponses>, McpFailure> {
        let requests = input_required.input_requests.unwrap_or_default();
        let mut replies = InputResponses::new();
        let answering = async {
            if requests.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            for (key, request) in requests {
                replies.insert(key, self.answer_input_request(request).await?);
            }
            Ok(())
        };
        tokio::select! {
            biased;
            answered = answering => answered?,
            () = terms.cancel.cancelled() => return Err(McpFailure::Cancelled),
            () = &mut *timer => {
                let what = "what the server asked back".to_owned();
                return Err(McpFailure::TimedOut { what, after: terms.limit });
            }
        }
        Ok((!replies.is_empty()).then_some(replies))
    }

    async fn answer_input_request(&self, request: InputRequest) -> Result<Value, McpFailure> {
        let client = self.running.service();
        let reply = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(client.elicit(request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(client.current_roots()),
            _ => {
                let reason = "it asked for a model's answer, which is not offered".to_owned();
                return Err(McpFailure::ProtocolViolation { reason });
            }
        };
        reply.map_err(|error| McpFailure::ProtocolViolation { reason: error.to_string() })
    }
}

/// Tells the server that the call is cancelled, if it is still reachable.
async fn cancel_on_server(handle: RequestHandle<RoleClient>, failure: &McpFailure) {
    if !matches!(failure, McpFailure::Gone { .. }) {
        let reason = Some(failure.to_string());
        let _ = tokio::time::timeout(CANCEL_NOTICE_MAX, handle.cancel(reason)).await;
    }
}
