//! What a session asks the person at the editor: for permission, for answers to the model's questions,
//! and for what an MCP server wants to know.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_assembly::options::SettingsOptions;
use windlass_assembly::settings;
use windlass_driver::mcp::{
    ElicitationFuture, ElicitationPrompter, ElicitationReply, ElicitationRequest,
};
use windlass_host::environment::process_environment;
use windlass_vocabulary::{PermissionAnswer, PermissionQuestion};

use super::question_elicitation::{QUESTION_TOOL, QuestionElicitation};
use super::tool_call_view::describe_call;
use crate::rpc::ClientConnection;
use crate::schema::{
    ClientCapabilities, PermissionOption, PermissionOptionKind, PermissionOutcome, ToolCallStatus,
};

/// Asks in the name of one session.
#[derive(Clone, Debug)]
pub(super) struct EditorQuestions {
    pub client: ClientConnection,
    pub capabilities: Arc<ClientCapabilities>,
    pub session_id: String,
    pub cwd: PathBuf,
    /// The same directory as the client spells it; ours has no links.
    pub client_cwd: PathBuf,
    pub settings: SettingsOptions,
    /// Questions for which the user went to a place and that are not done yet.
    pub open_urls: Arc<Mutex<VecDeque<String>>>,
}

impl EditorQuestions {
    /// Always returns an answer; only an explicit approval counts as one.
    pub(super) async fn ask_permission(&self, question: &PermissionQuestion) -> PermissionAnswer {
        if question.call.name.as_str() == QUESTION_TOOL {
            return self.ask_model_question(question).await;
        }
        let params = json!({
            "sessionId": self.session_id,
            "toolCall": describe_call(&question.call, ToolCallStatus::Pending, &self.client_cwd),
            "options": build_options(&question.suggestions),
        });
        let reply = self.client.request("session/request_permission", &params, ANSWER_MAX).await;
        let outcome = match reply {
            Ok(mut reply) => {
                let outcome = reply.get_mut("outcome").map(Value::take).unwrap_or_default();
                serde_json::from_value(outcome).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.message),
        };
        match outcome {
            Ok(PermissionOutcome::Selected { option_id }) => match option_id.as_str() {
                ALLOW_ONCE => allow(Vec::new()),
                ALLOW_ALWAYS => {
                    self.save_rules(&question.suggestions).await;
                    allow(question.suggestions.clone())
                }
                _ => deny("The user rejected this call.", false),
            },
            Ok(PermissionOutcome::Cancelled) => deny("The user cancelled.", true),
            Err(why) => deny(&format!("The editor gave no answer: {why}"), false),
        }
    }

    /// Keeps the rules for later sessions too. The session has them in any case.
    async fn save_rules(&self, rules: &[String]) {
        let options = self.settings.clone();
        let cwd = self.cwd.clone();
        let rules = rules.to_vec();
        let saved = tokio::task::spawn_blocking(move || {
            let environment = process_environment;
            let request = settings::build_load_request(&options, &cwd, &environment)
                .map_err(|error| error.to_string())?;
            windlass_settings::add_local_allow_rules(&request, &rules)
                .map(drop)
                .map_err(|error| error.to_string())
        });
        if let Ok(Err(why)) = saved.await {
            let text = format!("The rule holds for this session only: {why}");
            self.send_warning(&text);
        }
    }

    pub(super) fn send_warning(&self, text: &str) {
        if self.capabilities.takes_notices() {
            let update = json!({ "sessionUpdate": "notice", "severity": "warning", "title": text });
            let params = json!({ "sessionId": self.session_id, "update": update });
            self.client.notify("session/update", &params);
        }
    }

    fn remember_url(&self, id: &str) {
        let mut open = self.open_urls.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_URLS_MAX {
            open.pop_front();
        }
        open.push_back(id.to_owned());
    }

    async fn ask_model_question(&self, question: &PermissionQuestion) -> PermissionAnswer {
        let form = QuestionElicitation::from_call(&question.call);
        let Some(form) = form.filter(|_| self.capabilities.shows_forms()) else {
            return deny("Questions cannot be shown in this editor. Ask in your answer.", false);
        };
        let params = json!({
            "sessionId": self.session_id,
            "toolCallId": question.call.id.as_str(),
            "mode": "form",
            "message": question.why,
            "requestedSchema": form.schema,
        });
        let reply = self.client.request("elicitation/create", &params, ANSWER_MAX).await;
        match reply.as_ref().map(parse_elicitation_reply) {
            Ok(ElicitationReply::Accept(content)) => PermissionAnswer::Allow {
                updated_input: Some(form.fill(&content.unwrap_or_default())),
                remember: Vec::new(),
            },
            Ok(ElicitationReply::Decline) => deny("The user declined to answer.", false),
            Ok(ElicitationReply::Cancel) => deny("The user cancelled.", true),
            Err(error) => deny(&format!("The editor gave no answer: {}", error.message), false),
        }
    }
}

impl ElicitationPrompter for EditorQuestions {
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture {
        let asker = self.clone();
        Box::pin(async move {
            let message = format!("{}: {}", question.server, question.message);
            let params = match question.url {
                Some(url) if asker.capabilities.opens_urls() => json!({
                    "sessionId": asker.session_id, "mode": "url", "message": message, "url": url,
                    "elicitationId": question.id.unwrap_or_default(),
                }),
                None if asker.capabilities.shows_forms() => json!({
                    "sessionId": asker.session_id, "mode": "form", "message": message,
                    "requestedSchema": question.schema.unwrap_or_else(|| {
                        json!({ "type": "object", "properties": {} })
                    }),
                }),
                Some(_) | None => return ElicitationReply::Decline,
            };
            let id = params.get("elicitationId").and_then(Value::as_str);
            id.into_iter().for_each(|id| asker.remember_url(id));
            let reply = asker.client.request("elicitation/create", &params, ANSWER_MAX).await;
            // A client that has disconnected cannot have agreed to anything.
            reply.as_ref().map_or(ElicitationReply::Cancel, parse_elicitation_reply)
        })
    }

    /// The client is notified only about its own questions.
    fn complete(&self, id: &str) {
        let mut open = self.open_urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = open.iter().position(|known| known == id) {
            open.remove(place);
            self.client.notify("elicitation/complete", &json!({ "elicitationId": id }));
        }
    }
}

fn build_options(suggestions: &[String]) -> Vec<PermissionOption> {
    let option = |option_id, name: String, kind| PermissionOption { option_id, name, kind };
    let mut options = vec![option(ALLOW_ONCE, "Allow".to_owned(), PermissionOptionKind::AllowOnce)];
    if !suggestions.is_empty() {
        let name = format!("Always allow {}", suggestions.join(", "));
        options.push(option(ALLOW_ALWAYS, name, PermissionOptionKind::AllowAlways));
    }
    options.push(option(REJECT_ONCE, "Reject".to_owned(), PermissionOptionKind::RejectOnce));
    options
}

fn parse_elicitation_reply(reply: &Value) -> ElicitationReply {
    match reply.get("action").and_then(Value::as_str) {
        Some("accept") => {
            ElicitationReply::Accept(reply.get("content").cloned().filter(|it| !it.is_null()))
        }
        Some("decline") => ElicitationReply::Decline,
        _ => ElicitationReply::Cancel,
    }
}

fn allow(remember: Vec<String>) -> PermissionAnswer {
    PermissionAnswer::Allow { updated_input: None, remember }
}

fn deny(message: &str, interrupt: bool) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.to_owned(), interrupt }
}

/// More are forgotten, the oldest first: then the client is not told that they are done.
const OPEN_URLS_MAX: usize = 64;
const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
/// How long a person may take.
const ANSWER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
