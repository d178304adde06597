//! Parses the acts that the page requests.

use serde_json::Value;
use windlass_vocabulary::{PermissionAnswer, Ticket};

use crate::viewer::ViewFailure;

#[derive(Debug)]
pub(crate) enum ActRequest {
    Open,
    Close,
    Interrupt,
    Prompt { text: String },
    Answer(QuestionAnswer),
    Rewind { item: usize, files: bool },
}

#[derive(Debug)]
pub(crate) struct QuestionAnswer {
    pub(super) ticket: Ticket,
    pub(super) answer: PermissionAnswer,
}

impl ActRequest {
    pub(crate) fn parse(act: &str, body: &[u8]) -> Result<Self, ViewFailure> {
        let body: Value = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(body).map_err(|error| {
                ViewFailure::bad_request(&format!("the body is not JSON: {error}"))
            })?,
        };
        let missing = |name: &str| ViewFailure::bad_request(&format!("`{name}` is missing"));
        Ok(match act {
            "open" => Self::Open,
            "close" => Self::Close,
            "interrupt" => Self::Interrupt,
            "prompt" => {
                let text = body.get("text").and_then(Value::as_str).map(str::trim);
                let text = text.filter(|text| !text.is_empty()).ok_or_else(|| missing("text"))?;
                Self::Prompt { text: text.to_owned() }
            }
            "answer" => {
                let ticket = body.get("ticket").and_then(Value::as_u64);
                let ticket = Ticket(ticket.ok_or_else(|| missing("ticket"))?);
                Self::Answer(QuestionAnswer { ticket, answer: parse_answer(&body)? })
            }
            "rewind" => {
                let item = body.get("item").and_then(Value::as_u64);
                let item = item.and_then(|item| usize::try_from(item).ok());
                let files = body.get("files").and_then(Value::as_bool).unwrap_or(false);
                Self::Rewind { item: item.ok_or_else(|| missing("item"))?, files }
            }
            _ => return Err(ViewFailure::not_found("there is no such action")),
        })
    }
}

fn parse_answer(body: &Value) -> Result<PermissionAnswer, ViewFailure> {
    match body.get("answer").and_then(Value::as_str) {
        Some("allow") => {
            let rules = body.get("remember").and_then(Value::as_array).into_iter().flatten();
            let remember = rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect();
            Ok(PermissionAnswer::Allow { updated_input: None, remember })
        }
        Some("deny") => {
            let message = body.get("message").and_then(Value::as_str).unwrap_or_default().trim();
            let message = match message {
                "" => "The user does not want this.".to_owned(),
                message => message.to_owned(),
            };
            Ok(PermissionAnswer::Deny { message, interrupt: false })
        }
        _ => Err(ViewFailure::bad_request("`answer` is `allow` or `deny`")),
    }
}
