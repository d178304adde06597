//! The open permission questions of a session, and what may be answered to them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::store::InboxAnswer;
use crate::tenant_policy::TenantPolicy;

pub(crate) struct AskedCalls {
    pub(crate) policy: TenantPolicy,
    workspace: PathBuf,
    /// By request id.
    open: BTreeMap<String, AskedCall>,
}

struct AskedCall {
    tool: String,
    input: Value,
}

impl AskedCalls {
    pub(crate) fn new(policy: &TenantPolicy, workspace: PathBuf) -> Self {
        Self { policy: policy.clone(), workspace, open: BTreeMap::new() }
    }

    /// Keeps the call of a `can_use_tool` request.
    pub(crate) fn add(&mut self, request: &str, body: &Value) {
        let tool = body.get("tool_name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let input = body.get("input").cloned().unwrap_or_default();
        self.open.insert(request.to_owned(), AskedCall { tool, input });
    }

    /// The response to the session. An approver may allow no more than the tenant's rules could.
    pub(crate) fn take_answer(&mut self, answer: &InboxAnswer) -> Option<Value> {
        let mut response: Value = serde_json::from_str(&answer.answer).ok()?;
        let asked = self.open.remove(&answer.request);
        if response.get("behavior").and_then(Value::as_str) != Some("allow") {
            return Some(response);
        }
        let Some(AskedCall { tool, input }) = asked else { return Some(response) };
        if !self.policy.may_allow(&tool, &input, &self.workspace) {
            return Some(json!({ "behavior": "deny", "message": NOT_OPEN }));
        }
        if let Some(fields) = response.as_object_mut() {
            fields.entry("updatedInput").or_insert(input);
        }
        Some(response)
    }
}

/// What the model is told of a call that an approver may not allow.
const NOT_OPEN: &str = "No approver may allow this call for this tenant: it reaches past the working \
    directory or the sandbox.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tenant_may_not_do_is_denied_even_if_an_approver_allows_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut asked = AskedCalls::new(&TenantPolicy::default(), folder.path().to_owned());
        let call = |path: &str| json!({ "tool_name": "Read", "input": { "file_path": path } });
        let mut behavior_of = |path: &str, answer: &str| {
            asked.add("one", &call(path));
            let answer = InboxAnswer { request: "one".to_owned(), answer: answer.to_owned() };
            let response = asked.take_answer(&answer).unwrap();
            (response["behavior"].clone(), response["updatedInput"].clone())
        };
        let allow = r#"{"behavior":"allow"}"#;
        let input = json!({ "file_path": "note.txt" });
        assert_eq!(behavior_of("note.txt", allow), (json!("allow"), input));
        assert_eq!(behavior_of("/etc/passwd", allow), (json!("deny"), Value::Null));
        let deny = r#"{"behavior":"deny","message":"no"}"#;
        assert_eq!(behavior_of("note.txt", deny), (json!("deny"), Value::Null));
    }
}
