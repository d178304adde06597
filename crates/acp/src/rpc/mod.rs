//! JSON-RPC 2.0, one message a line.

mod client;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_host::line_streams::{StdinLine, for_each_stdin_line};

pub(crate) use client::ClientConnection;

/// Lines of the client, read by a thread of its own that blocks while they are not taken. The channel
/// closes at the end of the input.
pub(crate) fn spawn_line_reader() -> mpsc::Receiver<StdinLine> {
    let (lines, inbox) = mpsc::channel(LINES_MAX);
    let work = move || for_each_stdin_line(|_, line| lines.blocking_send(line).is_ok());
    // Without a thread the channel closes, which counts as the end of input.
    let _ = std::thread::Builder::new().name("lines".to_owned()).spawn(work);
    inbox
}

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(crate) enum RpcMessage {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, outcome: Result<Value, RpcError> },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
}

impl RpcError {
    pub(crate) fn parse_error(message: impl Into<String>) -> Self {
        Self { code: -32_700, message: message.into() }
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self { code: -32_600, message: message.into() }
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self { code: -32_601, message: format!("there is no method `{method}`") }
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: -32_602, message: message.into() }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { code: -32_603, message: message.into() }
    }

    pub(crate) fn cancelled() -> Self {
        Self { code: -32_800, message: "the request was cancelled".to_owned() }
    }

    pub(crate) fn auth_required(message: impl Into<String>) -> Self {
        Self { code: -32_000, message: message.into() }
    }

    pub(crate) fn session_not_found(id: &str) -> Self {
        Self::not_found(format!("there is no session `{id}`"))
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: -32_002, message: message.into() }
    }
}

/// A message of the client, or what is wrong with it and the id to answer with.
pub(crate) fn parse_message(line: &[u8]) -> Result<RpcMessage, (Value, RpcError)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, RpcError::parse_error(format!("not JSON: {error}"))))?;
    let Value::Object(mut fields) = value else {
        let problem = "a message is one JSON object; batches are not supported";
        return Err((Value::Null, RpcError::invalid_request(problem)));
    };
    let id = fields.remove("id");
    let is_fit = matches!(&id, None | Some(Value::Null | Value::Number(_) | Value::String(_)));
    if !is_fit {
        let problem = "`id` is neither a string nor a number";
        return Err((Value::Null, RpcError::invalid_request(problem)));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => Some(method),
        Some(_) => {
            let problem = "`method` is not a string";
            return Err((id.unwrap_or_default(), RpcError::invalid_request(problem)));
        }
        None => None,
    };
    let params = fields.remove("params").unwrap_or_else(|| json!({}));
    match (method, id) {
        (Some(method), Some(id)) => Ok(RpcMessage::Request { id, method, params }),
        (Some(method), None) => Ok(RpcMessage::Notification { method, params }),
        (None, Some(id)) => {
            let outcome = match (fields.remove("result"), fields.remove("error")) {
                // Some clients always send both, and `null` for what there is not.
                (Some(result), Some(Value::Null)) => Ok(result),
                (_, Some(error)) => Err(parse_error_object(&error)),
                (Some(result), None) => Ok(result),
                (None, None) => {
                    let problem = "it is neither a request nor an answer";
                    return Err((id, RpcError::invalid_request(problem)));
                }
            };
            Ok(RpcMessage::Response { id, outcome })
        }
        (None, None) => {
            Err((Value::Null, RpcError::invalid_request("it has neither `method` nor `id`")))
        }
    }
}

fn parse_error_object(error: &Value) -> RpcError {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason was given");
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    RpcError { code, message: message.to_owned() }
}

const LINES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_message_is_told_apart() {
        let request = parse_message(br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}"#);
        let expected =
            RpcMessage::Request { id: json!(1), method: "a".to_owned(), params: json!({"x": 1}) };
        assert_eq!(request, Ok(expected));
        let notification = parse_message(br#"{"method":"a"}"#);
        let expected = RpcMessage::Notification { method: "a".to_owned(), params: json!({}) };
        assert_eq!(notification, Ok(expected));
        let answer = parse_message(br#"{"id":"q","result":null}"#);
        assert_eq!(answer, Ok(RpcMessage::Response { id: json!("q"), outcome: Ok(Value::Null) }));
        let answer = parse_message(br#"{"id":1,"result":{},"error":null}"#);
        assert_eq!(answer, Ok(RpcMessage::Response { id: json!(1), outcome: Ok(json!({})) }));
        let codes = [
            ("{", -32_700),
            ("[]", -32_600),
            ("{}", -32_600),
            (r#"{"id":[1],"method":"a"}"#, -32_600),
            (r#"{"id":1,"method":2}"#, -32_600),
            (r#"{"id":1}"#, -32_600),
        ];
        for (line, code) in codes {
            let (_, error) = parse_message(line.as_bytes()).unwrap_err();
            assert_eq!(error.code, code, "{line}");
        }
    }
}
