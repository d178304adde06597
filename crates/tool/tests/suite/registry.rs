//! What a model is told of the tools, and what it hears when it gets one wrong.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_permission::PermissionGrant;
use windlass_tool::{Tool, ToolCallContext, ToolFuture, ToolRegistry};
use windlass_vocabulary::{
    Concurrency, Json, ToolCall, ToolInspection, ToolName, ToolOutcome, ToolSpec,
};

use crate::test_project::TestProject;

struct Custom(ToolSpec);

impl Tool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn inspect(&self, _: &Json) -> ToolInspection {
        ToolInspection::SHARED_READ
    }
    fn run<'a>(&'a self, _: PermissionGrant<ToolCall>, _: ToolCallContext) -> ToolFuture<'a> {
        Box::pin(async { ToolOutcome::from_text("custom") })
    }
}

fn custom(name: &str) -> Arc<dyn Tool> {
    Arc::new(Custom(ToolSpec {
        name: ToolName::from(name),
        description: "".into(),
        input_schema: Json::empty_object(),
        result_bytes_max: 10,
    }))
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    registry.specs().iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn tools_keep_their_order_and_new_ones_come_last() {
    let mut registry = ToolRegistry::with_builtin_tools();
    let builtin = names(&registry);
    assert_eq!(builtin, OFFERED);
    assert!(registry.insert(custom("Alpha")).is_none());
    assert!(registry.insert(custom("Read")).is_some());
    let mut now = builtin;
    now.insert(OFFERED.len() - 1, "Alpha".to_owned());
    assert_eq!(names(&registry), now);
    registry.retain(|spec| spec.name.as_str() != "Bash");
    assert!(registry.get("Bash").is_none() && registry.get("Alpha").is_some());
}

const OFFERED: [&str; 11] = [
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Glob",
    "Grep",
    "WebFetch",
    "TodoWrite",
    "Monitor",
    "TaskStop",
    "ToolSearch",
];
const DEFERRED: [&str; 8] = [
    "NotebookEdit",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUserQuestion",
];

#[tokio::test]
async fn deferred_tools_are_found_and_offered_once() {
    let mut project = TestProject::new();
    project.registry.insert_deferred(custom("mcp__disk__format"));
    let deferred: Vec<String> =
        project.registry.deferred_specs().iter().map(|spec| spec.name.to_string()).collect();
    assert_eq!(deferred[..8], DEFERRED);
    let offered = |outcome: &ToolOutcome| -> Vec<String> {
        let tools = outcome.update.iter().flat_map(|update| &update.tools);
        tools.map(|spec| spec.name.to_string()).collect()
    };
    let search = async |input| project.call("ToolSearch", input).await;
    let found = search(json!({"query": "jupyter notebook cell"})).await;
    assert_eq!(offered(&found), ["NotebookEdit"]);
    assert_eq!(offered(&search(json!({"query": "notebook"})).await), [""; 0], "not twice");
    let found = search(json!({"query": "select:taskget, mcp__disk__format"})).await;
    assert_eq!(offered(&found), ["TaskGet", "mcp__disk__format"]);
    let found = search(json!({"query": "task", "max_results": 2})).await;
    assert!(crate::test_project::text(&found).lines().count() == 3, "{found:?}");
    let nothing = search(json!({"query": "teleport"})).await;
    assert!(
        nothing.is_error
            && crate::test_project::text(&nothing).contains("There are: NotebookEdit,")
    );
    // Without anything to find there is nothing to search with.
    project.registry.defer(|_| false);
    assert!(project.registry.get("ToolSearch").is_none());
    assert_eq!(project.registry.specs().len(), 19);
    project.registry.retain(|spec| spec.name.as_str() == "Bash");
    assert_eq!(project.registry.names().collect::<Vec<_>>(), ["Bash"]);
}

/// What every request carries costs every time.
#[test]
fn the_default_tools_fit_their_budget() {
    let bytes = |spec: &ToolSpec| {
        spec.name.as_str().len() + spec.description.len() + spec.input_schema.as_str().len()
    };
    let specs = ToolRegistry::with_builtin_tools().specs();
    let total: usize = specs.iter().map(bytes).sum();
    let tokens = total / 4;
    assert!(tokens < 3_000, "{tokens} tokens");
    for spec in specs.iter().chain(&ToolRegistry::with_builtin_tools().deferred_specs()) {
        assert!(spec.description.len() < 600, "{} talks too much", spec.name);
    }
}

#[test]
fn schemas_are_small_and_say_what_is_needed() {
    let registry = ToolRegistry::with_builtin_tools();
    let all = [registry.specs(), registry.deferred_specs()].concat();
    let schemas: Vec<(String, Value)> = all
        .iter()
        .map(|spec| {
            (spec.name.to_string(), serde_json::from_str(spec.input_schema.as_str()).unwrap())
        })
        .collect();
    for (name, schema) in &schemas {
        assert_eq!(schema["type"], "object", "{name}");
        let text = schema.to_string();
        for noise in ["$schema", "\"title\"", "\"format\"", "\"null\"", "anyOf", "oneOf", "$ref"] {
            assert!(!text.contains(noise), "{name}: {noise} in {text}");
        }
    }
    let (_, edit) = schemas.iter().find(|(name, _)| name == "Edit").unwrap();
    assert_eq!(edit["required"], json!(["file_path", "old_string", "new_string"]));
    let (_, bash) = schemas.iter().find(|(name, _)| name == "Bash").unwrap();
    assert_eq!(bash["required"], json!(["command"]));
    assert_eq!(bash["properties"]["timeout"]["type"], "integer");
}

#[test]
fn a_wrong_call_is_refused_with_what_is_wrong() {
    let project = TestProject::new();
    let cases = [
        ("bash", json!({}), "There is no tool `bash`. Did you mean `Bash`?"),
        ("Raed", json!({}), "Did you mean `Read`?"),
        ("Frobnicate", json!({}), "There are: Bash, Read,"),
        (
            "Bash",
            json!({}),
            "missing field `command`. Expected there: string. The command line, run by bash.",
        ),
        (
            "Read",
            json!({"path": "/x"}),
            "missing field `file_path`. Expected there: string. Absolute path of the file. It has \
             no field `path`.",
        ),
        (
            "Grep",
            json!({"pattern": "x", "output_mode": "lines"}),
            "Expected there: \"content\" or \"files_with_matches\" or \"count\".",
        ),
        ("Grep", json!({"pattern": "x", "-i": "maybe"}), "field `-i`: expected true or false"),
        ("Grep", json!({"pattern": "("}), "field `pattern`: "),
        ("Glob", json!({"pattern": "../*"}), "field `pattern`: `..` is not allowed"),
        (
            "Bash",
            json!({"command": 5}),
            "field `command`: invalid type: integer `5`, expected a string",
        ),
        ("Bash", json!({"command": "  "}), "field `command`: empty"),
        (
            "Bash",
            json!({"command": "a", "timeout": "soon"}),
            "field `timeout`: expected a whole number",
        ),
        (
            "Bash",
            json!({"command": "a", "timeout": -1}),
            "field `timeout`: expected a whole number",
        ),
        ("Read", json!({"file_path": ["x"]}), "field `file_path`"),
        ("Edit", json!({"file_path": "x", "old_string": "a"}), "missing field `new_string`"),
        ("Edit", json!("text"), "invalid type: string"),
    ];
    for (tool, input, expected) in cases {
        let problem = project.inspect(tool, &input).problem.unwrap();
        assert!(problem.contains(expected), "{tool} {input}: {problem}");
    }
    let broken = project.registry.inspect("Bash", &Json::from_checked("{\"command\": \"l"));
    assert!(broken.problem.unwrap().contains("EOF"));

    let fine = project.inspect("Bash", &json!({"command": "make", "timeout": 5.0, "unknown": {}}));
    assert_eq!((fine.problem, fine.concurrency), (None, Concurrency::Exclusive));
}
