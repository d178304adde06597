//! A place to run hooks in, and a short way to write them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_hook::{
    CombinedHookResult, HookEnvironment, HookEvent, HookInvocation, HookRunResult, HookSet,
    HookSource, HookWatcher,
};

pub(crate) struct HookTestBed {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) environment: HookEnvironment,
    pub(crate) recorded: Arc<RecordedHookEvents>,
}

/// What was told of hooks.
#[derive(Debug, Default)]
pub(crate) struct RecordedHookEvents(pub(crate) Mutex<Vec<String>>);

impl HookWatcher for RecordedHookEvents {
    fn hook_started(&self, _: u64, name: &str, event: HookEvent) {
        self.0.lock().unwrap().push(format!("start {name} {}", event.name()));
    }

    fn hook_ended(&self, said: &HookRunResult) {
        let line = format!("end {} {:?} {:?}", said.event_label, said.exit_code, said.failure);
        self.0.lock().unwrap().push(line);
    }
}

impl HookTestBed {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let recorded = Arc::new(RecordedHookEvents::default());
        let cwd = directory.path().canonicalize().unwrap();
        let environment = HookEnvironment {
            launcher: None,
            project: cwd.clone(),
            env_vars: windlass_tool::environment::build_child_environment(std::env::vars_os()),
            spill: cwd.join("spill"),
            cwd,
            background: Arc::default(),
            watcher: Some(recorded.clone()),
            backend: None,
            waker: None,
        };
        Self { directory, environment, recorded }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.environment.cwd
    }

    /// Asks hooks at an event about the tool `Bash`.
    pub(crate) async fn run(&self, event: HookEvent, hooks: &[Value]) -> CombinedHookResult {
        self.run_with(event, hooks, HookInvocation::default()).await
    }

    pub(crate) async fn run_with(
        &self,
        event: HookEvent,
        hooks: &[Value],
        occasion: HookInvocation,
    ) -> CombinedHookResult {
        let set = build_hook_set(event, hooks);
        let input = match occasion.input {
            Value::Null => json!({ "hook_event_name": event.name(), "tool_name": "Bash" }),
            input => input,
        };
        let about = Some("Bash".to_owned());
        let occasion = HookInvocation { input, subject: about, ..occasion };
        set.select(event, Some("Bash"), |_| true).run(occasion, &self.environment).await
    }
}

pub(crate) fn build_hook_set(event: HookEvent, hooks: &[Value]) -> HookSet {
    let value = json!({ (event.name()): [{ "hooks": hooks }] });
    let (set, problems) = HookSet::parse(&value, &HookSource::new("test"));
    assert_eq!(problems, Vec::<String>::new());
    set
}

pub(crate) fn command_hook(line: &str) -> Value {
    json!({ "type": "command", "command": line })
}
