//! The answer as one JSON object that a schema accepts: a tool that takes the object, and the count of
//! what did not fit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windlass_driver::{Granted, Job, Running, Tool};
use windlass_vocabulary::{Inspection, Json, ToolCall, ToolName, ToolOutcome, ToolSpec};

use crate::schema::Schema;

/// The tool by which the model hands the object over.
#[derive(Debug)]
pub(crate) struct StructuredOutput {
    spec: ToolSpec,
    schema: Schema,
    shared: Arc<Mutex<State>>,
}

/// The desk's side of it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    shared: Arc<Mutex<State>>,
    /// How often the model is asked again.
    pub(crate) retries_max: u32,
}

#[derive(Debug, Default)]
struct State {
    value: Option<Value>,
    misses: u32,
}

/// The tool and the desk's side of it.
pub(crate) fn structured(schema: Schema) -> (StructuredOutput, Wanted) {
    let shared = Arc::new(Mutex::new(State::default()));
    let spec = ToolSpec {
        name: ToolName::from(NAME),
        description: Arc::from(DESCRIPTION),
        input_schema: Json::from_checked(&as_object(schema.root()).to_string()),
        result_bytes_max: 10_000,
    };
    let retries_max = std::env::var("MAX_STRUCTURED_OUTPUT_RETRIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(RETRIES_MAX);
    let wanted = Wanted { shared: Arc::clone(&shared), retries_max };
    (StructuredOutput { spec, schema, shared }, wanted)
}

impl Wanted {
    /// A prompt is taken up: nothing was handed over for it.
    pub(crate) fn reset(&self) {
        *lock(&self.shared) = State::default();
    }

    /// What was handed over last.
    pub(crate) fn value(&self) -> Option<Value> {
        lock(&self.shared).value.clone()
    }

    /// The model missed it once more. Is it worth asking again?
    pub(crate) fn missed(&self) -> bool {
        let mut state = lock(&self.shared);
        state.misses += 1;
        state.misses <= self.retries_max
    }

    /// Did it miss more often than it may?
    pub(crate) fn is_spent(&self) -> bool {
        let state = lock(&self.shared);
        state.value.is_none() && state.misses > self.retries_max
    }
}

impl Tool for StructuredOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _input: &Json) -> Inspection {
        Inspection::SHARED_READ
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, _job: Job) -> Running<'a> {
        Box::pin(async move {
            let value = serde_json::from_str(call.get().input.as_str()).unwrap_or(Value::Null);
            let misfits = self.schema.misfits(&value);
            let mut state = lock(&self.shared);
            if misfits.is_empty() {
                state.value = Some(value);
                return ToolOutcome::text("The object was taken.");
            }
            state.misses += 1;
            let misfits = misfits.join("; ");
            ToolOutcome::failure(format!("The object does not fit the schema. {misfits}."))
        })
    }
}

/// Providers want an object at the root of a tool's input; schemas without a type mean one.
fn as_object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.entry("type").or_insert_with(|| Value::from("object"));
    }
    schema
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its name, which hosts know.
pub(crate) const NAME: &str = "StructuredOutput";
const DESCRIPTION: &str = "Hands over the final answer as an object. Call it once, when everything \
                           else is done; the answer counts only if it is handed over here.";
/// What is said to a model that stopped without handing anything over.
pub(crate) const REMINDER: &str =
    "The answer was not handed over. Call the tool StructuredOutput with the object now.";
const RETRIES_MAX: u32 = 5;
