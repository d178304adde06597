//! A session with a directory of its own, and the shortest way to call a tool in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use windlass_permission::{PermissionDecision, PermissionGrant, Policy, PriorDecision, decide};
use windlass_tool::{ToolCallContext, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{
    Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName, ToolOutcome,
    ToolResultPart,
};

pub(crate) struct TestProject {
    _directory: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) registry: ToolRegistry,
    pub(crate) context: Arc<ToolSessionContext>,
}

impl TestProject {
    /// What calls left in the folder for long output, but for the note of whose calls they are: that
    /// goes with the session.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.context.processes.spill_directory)
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with("owner")).collect()
    }

    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ToolSessionContext)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let root = top.join("project");
        std::fs::create_dir(&root).unwrap();
        let mut context = ToolSessionContext::new(&root, top.join("spill"));
        change(&mut context);
        Self {
            _directory: directory,
            root,
            registry: ToolRegistry::with_builtin_tools(),
            context: Arc::new(context),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn call_context(&self) -> ToolCallContext {
        ToolCallContext::new(Arc::clone(&self.context))
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        self.call_in(tool, input, self.call_context()).await
    }

    pub(crate) async fn call_in(
        &self,
        tool: &str,
        input: Value,
        call: ToolCallContext,
    ) -> ToolOutcome {
        let granted = granted(&input);
        self.registry.get(tool).unwrap().run(granted, call).await
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolOutcome {
        self.call("Bash", serde_json::json!({ "command": command })).await
    }

    pub(crate) async fn read(&self, path: &Path) -> ToolOutcome {
        self.call("Read", serde_json::json!({ "file_path": path })).await
    }

    pub(crate) fn inspect(&self, tool: &str, input: &Value) -> ToolInspection {
        self.registry.inspect(tool, &Json::from_checked(&input.to_string()))
    }
}

/// A proof, got the only way there is: by asking in a mode that allows everything. It is asked for a
/// tool without rules of its own, because what is tested here must hold by itself.
pub(crate) fn granted(input: &Value) -> PermissionGrant<ToolCall> {
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Anything"),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let policy = Policy { mode: PermissionMode::BypassPermissions, ..Policy::default() };
    match decide(&policy, call, &ToolInspection::EXCLUSIVE_EFFECT, PriorDecision::None) {
        PermissionDecision::Allow(granted) => granted,
        refused @ (PermissionDecision::Ask(_) | PermissionDecision::Deny { .. }) => {
            panic!("not allowed: {refused:?}")
        }
    }
}

pub(crate) fn text(outcome: &ToolOutcome) -> &str {
    match outcome.content.as_slice() {
        [ToolResultPart::Text(text)] => text,
        other => panic!("not one text: {other:?}"),
    }
}

pub(crate) fn structured(outcome: &ToolOutcome) -> Value {
    serde_json::from_str(outcome.structured.as_ref().unwrap().as_str()).unwrap()
}

/// Is the process whose number is in the file alive? A dead one nobody has buried yet is not.
pub(crate) fn is_running(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        Ok(stat) => !matches!(stat.rsplit(") ").next().unwrap().chars().next(), Some('Z' | 'X')),
        Err(_) => false,
    }
}

const ALONE: &str = "WINDLASS_TEST_ALONE";

/// Runs a test once more in a process of its own, where it may change or measure what belongs to a
/// whole process. Says whether this is that process; if not, it has run and passed.
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return true;
    }
    let inside = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads", "1"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && said.contains("1 passed"), "{said}");
    false
}
