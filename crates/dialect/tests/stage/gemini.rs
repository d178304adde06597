//! Writes answers down as a server of `…:streamGenerateContent` would.

use serde_json::{Value, json};
use windlass_vocabulary::ModelStopReason;

use super::{Answer, Say};

/// Several fragments.
pub fn chunks(list: &[Value]) -> Vec<u8> {
    list.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect::<String>().into_bytes()
}

pub fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "modelVersion": "gemini-test", "responseId": "r1"})
}

pub fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": reason,
        "index": 0}], "usageMetadata": usage(), "modelVersion": "gemini-test", "responseId": "r1"})
}

pub fn usage() -> Value {
    json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 10,
        "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 2, "totalTokenCount": 117})
}

pub fn tell(answer: &Answer) -> Vec<u8> {
    let mut body = Vec::new();
    for say in &answer.says {
        match say {
            Say::Text(pieces) => {
                for text in pieces {
                    body.extend(chunks(&[parts(json!([{"text": text}]))]));
                }
            }
            Say::Thinking { pieces, .. } => {
                for text in pieces {
                    body.extend(chunks(&[parts(json!([{"text": text, "thought": true}]))]));
                }
            }
            Say::Call { id, name, arguments } => {
                // The arguments are put in as they are, so that their bytes can be compared.
                let call = json!({"functionCall": {"id": id, "name": name, "args": "ARGUMENTS"},
                    "thoughtSignature": "c2VhbA=="});
                let chunk = chunks(&[parts(json!([call]))]);
                let chunk = String::from_utf8(chunk).expect("text");
                body.extend(chunk.replace("\"ARGUMENTS\"", &arguments.concat()).into_bytes());
            }
        }
    }
    body.extend(chunks(&[finish(match answer.stop {
        ModelStopReason::EndTurn | ModelStopReason::WindowFull => "STOP",
        ModelStopReason::Pause => "CONTINUATION",
        ModelStopReason::OutputLimit => "MAX_TOKENS",
        ModelStopReason::Refusal => "SAFETY",
    })]));
    body
}
