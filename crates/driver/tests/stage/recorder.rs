//! Tools that do nothing but remember that they ran.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use windlass_driver::{Tool, ToolCallContext, ToolFuture, ToolRegistry};
use windlass_permission::PermissionGrant;
use windlass_vocabulary::{Json, ToolCall, ToolInspection, ToolName, ToolOutcome, ToolSpec};

/// What ran, in order, and a gate that calls wait at.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    ran: Arc<Mutex<Vec<ToolCall>>>,
    gate: watch::Sender<bool>,
    /// How many run now, and how many ran at once at most.
    running: Arc<Mutex<(usize, usize)>>,
}

impl Recorder {
    /// Two tools: `Look` reads, `Act` has effects. Both need `at`; `lines` makes results long.
    pub(crate) fn new() -> (Self, ToolRegistry) {
        let recorder =
            Self { ran: Arc::default(), gate: watch::Sender::new(true), running: Arc::default() };
        let mut registry = ToolRegistry::empty();
        for (name, inspection) in
            [("Look", ToolInspection::SHARED_READ), ("Act", ToolInspection::EXCLUSIVE_EFFECT)]
        {
            let spec = ToolSpec {
                name: ToolName::from(name),
                description: "A tool of the test.".into(),
                input_schema: Json::from_checked(SCHEMA),
                result_bytes_max: 100_000,
            };
            let recorder = recorder.clone();
            registry.insert(Arc::new(Recorded { spec, inspection, recorder }));
        }
        (recorder, registry)
    }

    /// Lets calls begin and holds them before they end.
    pub(crate) fn hold(&self) {
        self.gate.send_replace(false);
    }

    /// Lets calls end.
    pub(crate) fn release(&self) {
        self.gate.send_replace(true);
    }

    /// The most calls that ran at once.
    pub(crate) fn peak(&self) -> usize {
        self.running.lock().unwrap().1
    }

    fn count(&self, change: isize) {
        let (now, peak) = &mut *self.running.lock().unwrap();
        *now = now.checked_add_signed(change).unwrap();
        *peak = (*peak).max(*now);
    }

    /// The calls that ran, as `name input`.
    pub(crate) fn ran(&self) -> Vec<String> {
        let ran = self.ran.lock().unwrap();
        ran.iter().map(|call| format!("{} {}", call.name, call.input)).collect()
    }
}

struct Recorded {
    spec: ToolSpec,
    inspection: ToolInspection,
    recorder: Recorder,
}

impl Tool for Recorded {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        let input: serde_json::Value = serde_json::from_str(input.as_str()).unwrap_or_default();
        match input.get("at").is_some_and(serde_json::Value::is_string) {
            true => self.inspection.clone(),
            false => ToolInspection::from_problem("The input needs a field `at`."),
        }
    }

    fn run<'a>(&'a self, call: PermissionGrant<ToolCall>, _job: ToolCallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let call = call.into_inner();
            let input: serde_json::Value = serde_json::from_str(call.input.as_str()).unwrap();
            let lines = usize::try_from(input["lines"].as_u64().unwrap_or(0)).unwrap();
            let words =
                format!("did {} {}{}", call.name, call.input, "\none more line".repeat(lines));
            self.recorder.ran.lock().unwrap().push(call);
            self.recorder.count(1);
            let mut gate = self.recorder.gate.subscribe();
            let _ = gate.wait_for(|is_open| *is_open).await;
            // Others get a chance to begin.
            tokio::task::yield_now().await;
            self.recorder.count(-1);
            ToolOutcome::from_text(words)
        })
    }
}

const SCHEMA: &str = r#"{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}"#;
