//! The answer as one JSON object that fits a schema: a tool that takes the object, and the count of
//! misses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windlass_driver::{PermissionGrant, Tool, ToolCallContext, ToolFuture};
use windlass_vocabulary::{Json, ToolCall, ToolInspection, ToolName, ToolOutcome, ToolSpec};

use crate::json_schema::CheckedSchema;

/// The tool by which the model hands the object over.
#[derive(Debug)]
pub(crate) struct StructuredOutput {
    spec: ToolSpec,
    schema: CheckedSchema,
    shared: Arc<Mutex<StructuredOutputState>>,
}

/// What the event loop sees of the tool.
#[derive(Clone, Debug)]
pub(crate) struct StructuredOutputTracker {
    shared: Arc<Mutex<StructuredOutputState>>,
    pub retries_max: u32,
}

#[derive(Debug, Default)]
struct StructuredOutputState {
    value: Option<Value>,
    misses: u32,
}

pub(crate) fn build_structured_output(
    schema: CheckedSchema,
) -> (StructuredOutput, StructuredOutputTracker) {
    let shared = Arc::new(Mutex::new(StructuredOutputState::default()));
    let spec = ToolSpec {
        name: ToolName::from(TOOL_NAME),
        description: Arc::from(DESCRIPTION),
        input_schema: Json::from_checked(&ensure_object_type(schema.root()).to_string()),
        result_bytes_max: 10_000,
    };
    let retries_max = std::env::var("MAX_STRUCTURED_OUTPUT_RETRIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(RETRIES_MAX);
    let wanted = StructuredOutputTracker { shared: Arc::clone(&shared), retries_max };
    (StructuredOutput { spec, schema, shared }, wanted)
}

impl StructuredOutputTracker {
    /// A prompt starts without an object.
    pub(crate) fn reset(&self) {
        *lock_state(&self.shared) = StructuredOutputState::default();
    }

    pub(crate) fn value(&self) -> Option<Value> {
        lock_state(&self.shared).value.clone()
    }

    /// Counts an answer without an object. Returns whether to ask again.
    pub(crate) fn record_miss(&self) -> bool {
        let mut state = lock_state(&self.shared);
        state.misses += 1;
        state.misses <= self.retries_max
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        let state = lock_state(&self.shared);
        state.value.is_none() && state.misses > self.retries_max
    }
}

impl Tool for StructuredOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _input: &Json) -> ToolInspection {
        ToolInspection { limits_itself: true, ..ToolInspection::SHARED_READ }
    }

    fn run<'a>(&'a self, call: PermissionGrant<ToolCall>, _job: ToolCallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let value = serde_json::from_str(call.get().input.as_str()).unwrap_or(Value::Null);
            let problems = self.schema.validate(&value);
            let mut state = lock_state(&self.shared);
            if problems.is_empty() {
                state.value = Some(value);
                return ToolOutcome::from_text("The object was taken.");
            }
            state.misses += 1;
            let problems = problems.join("; ");
            ToolOutcome::failure(format!("The object does not fit the schema. {problems}."))
        })
    }
}

/// Providers want an object at the root of a tool's input; schemas without a type mean one.
fn ensure_object_type(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.entry("type").or_insert_with(|| Value::from("object"));
    }
    schema
}

fn lock_state(state: &Mutex<StructuredOutputState>) -> MutexGuard<'_, StructuredOutputState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Clients know this name.
pub(crate) const TOOL_NAME: &str = "StructuredOutput";
const DESCRIPTION: &str = "Hands over the final answer as an object. Call it once, when everything \
                           else is done; the answer counts only if it is handed over here.";
/// The prompt for a model that stopped without an object.
pub(crate) const REMINDER: &str =
    "The answer was not handed over. Call the tool StructuredOutput with the object now.";
const RETRIES_MAX: u32 = 5;
