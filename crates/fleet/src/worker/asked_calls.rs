//! The open permission questions of a session, and what may be answered to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use windlass_vocabulary::to_hex;

use crate::store::InboxAnswer;
use crate::tenant_policy::TenantPolicy;

pub(crate) struct AskedCalls {
    pub(crate) policy: TenantPolicy,
    workspace: PathBuf,
    epoch: u64,
    /// By the request id that users know.
    open: BTreeMap<String, AskedCall>,
    /// What the session was given, until the store has recorded it.
    delivered: BTreeMap<String, &'static str>,
}

struct AskedCall {
    /// The id that the process knows.
    request: String,
    tool: String,
    tool_use: String,
    input: Value,
}

/// What to do about an answer.
pub(crate) struct AnswerDelivery {
    /// The process's id of the request, and the response to it; `None` if it has it already.
    pub(crate) response: Option<(String, Value)>,
    /// `allow` or `deny`.
    pub(crate) outcome: &'static str,
}

impl AskedCalls {
    pub(crate) fn new(policy: &TenantPolicy, workspace: PathBuf, epoch: u64) -> Self {
        Self {
            policy: policy.clone(),
            workspace,
            epoch,
            open: BTreeMap::new(),
            delivered: BTreeMap::new(),
        }
    }

    /// The id of a request for users. Each process counts from 1, so that without the claim's number
    /// an answer to an earlier claim's question would count for another call of this one.
    pub(crate) fn to_public_id(&self, request: &str) -> String {
        format!("{request}.{}", self.epoch)
    }

    /// Keeps the call of a `can_use_tool` request. Returns what identifies the call over all claims.
    pub(crate) fn add(&mut self, request: &str, body: &Value) -> String {
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let call = AskedCall {
            request: request.to_owned(),
            tool: text("tool_name").to_owned(),
            tool_use: text("tool_use_id").to_owned(),
            input: body.get("input").cloned().unwrap_or_default(),
        };
        let identity = json!([call.tool_use, call.tool, call.input]).to_string();
        self.open.insert(self.to_public_id(request), call);
        to_hex(digest(&SHA256, identity.as_bytes()).as_ref())
    }

    /// Forgets a question that the session withdrew. Returns its id for users.
    pub(crate) fn remove(&mut self, request: &str) -> String {
        let id = self.to_public_id(request);
        self.open.remove(&id);
        id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The calls that wait for an answer.
    pub(crate) fn tool_uses(&self) -> BTreeSet<&str> {
        self.open.values().map(|call| call.tool_use.as_str()).collect()
    }

    /// What to send for an answer. An approver may allow no more than the tenant's rules could.
    /// `None` for a question that this process did not ask.
    pub(crate) fn take_answer(&mut self, answer: &InboxAnswer) -> Option<AnswerDelivery> {
        if let Some(outcome) = self.delivered.get(&answer.request) {
            return Some(AnswerDelivery { response: None, outcome });
        }
        let AskedCall { request, tool, input, .. } = self.open.remove(&answer.request)?;
        let unreadable = || json!({ "behavior": "deny", "message": "The answer is unreadable." });
        let mut response: Value =
            serde_json::from_str(&answer.answer).unwrap_or_else(|_| unreadable());
        let is_allowed = response.get("behavior").and_then(Value::as_str) == Some("allow");
        let outcome = match is_allowed && self.policy.may_allow(&tool, &input, &self.workspace) {
            true => "allow",
            false => "deny",
        };
        if is_allowed && outcome == "deny" {
            response = json!({ "behavior": "deny", "message": NOT_OPEN });
        } else if let Some(fields) = response.as_object_mut().filter(|_| is_allowed) {
            fields.entry("updatedInput").or_insert(input);
        }
        self.delivered.insert(answer.request.clone(), outcome);
        Some(AnswerDelivery { response: Some((request, response)), outcome })
    }

    /// The store has recorded what the session was given.
    pub(crate) fn forget(&mut self, request: &str) {
        self.delivered.remove(request);
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
        let mut asked = AskedCalls::new(&TenantPolicy::default(), folder.path().to_owned(), 3);
        let call = |path: &str| json!({ "tool_name": "Read", "input": { "file_path": path } });
        let mut number = 0;
        let mut behavior_of = |path: &str, answer: &str| {
            number += 1;
            let request = format!("ask_{number}");
            asked.add(&request, &call(path));
            let answer = InboxAnswer { request: format!("{request}.3"), answer: answer.to_owned() };
            let delivery = asked.take_answer(&answer).unwrap();
            let (id, response) = delivery.response.unwrap();
            assert_eq!(id, request);
            assert_eq!(response["behavior"], delivery.outcome);
            // The same answer again is not sent twice, and until then has the same outcome.
            let again = asked.take_answer(&answer).unwrap();
            assert!(again.response.is_none() && again.outcome == delivery.outcome);
            asked.forget(&answer.request);
            assert!(asked.take_answer(&answer).is_none());
            (response["behavior"].clone(), response["updatedInput"].clone())
        };
        let allow = r#"{"behavior":"allow"}"#;
        let input = json!({ "file_path": "note.txt" });
        assert_eq!(behavior_of("note.txt", allow), (json!("allow"), input));
        assert_eq!(behavior_of("/etc/passwd", allow), (json!("deny"), Value::Null));
        let deny = r#"{"behavior":"deny","message":"no"}"#;
        assert_eq!(behavior_of("note.txt", deny), (json!("deny"), Value::Null));
    }

    #[test]
    fn a_call_is_the_same_over_claims_only_with_the_same_input() {
        let body = |path: &str| json!({ "tool_use_id": "t1", "tool_name": "Read", "input": path });
        let mut first = AskedCalls::new(&TenantPolicy::default(), PathBuf::new(), 1);
        let mut second = AskedCalls::new(&TenantPolicy::default(), PathBuf::new(), 2);
        let call = first.add("ask_1", &body("a"));
        assert_eq!(second.add("ask_7", &body("a")), call);
        assert_ne!(second.add("ask_8", &body("b")), call);
        assert_ne!(first.to_public_id("ask_1"), second.to_public_id("ask_1"));
        assert_eq!(first.tool_uses().into_iter().collect::<Vec<_>>(), ["t1"]);
    }
}
