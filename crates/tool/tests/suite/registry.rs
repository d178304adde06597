//! What a model is told of the tools, and what it hears when it gets one wrong.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_permission::Granted;
use windlass_tool::{Job, Registry, Running, Tool};
use windlass_vocabulary::{
    Concurrency, Inspection, Json, ToolCall, ToolName, ToolOutcome, ToolSpec,
};

use crate::world::World;

struct Custom(ToolSpec);

impl Tool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn inspect(&self, _: &Json) -> Inspection {
        Inspection::SHARED_READ
    }
    fn run<'a>(&'a self, _: Granted<ToolCall>, _: Job) -> Running<'a> {
        Box::pin(async { ToolOutcome::text("custom") })
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

fn names(registry: &Registry) -> Vec<String> {
    registry.specs().iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn tools_keep_their_order_and_new_ones_come_last() {
    let mut registry = Registry::builtin();
    let builtin = names(&registry);
    assert_eq!(
        builtin,
        ["Bash", "Read", "Edit", "Write", "Glob", "Grep", "NotebookEdit", "Monitor", "TaskStop"]
    );
    assert!(registry.insert(custom("Alpha")).is_none());
    assert!(registry.insert(custom("Read")).is_some());
    assert_eq!(names(&registry), [builtin, vec!["Alpha".to_owned()]].concat());
    registry.retain(|spec| spec.name.as_str() != "Bash");
    assert!(registry.get("Bash").is_none() && registry.get("Alpha").is_some());
}

#[test]
fn schemas_are_small_and_say_what_is_needed() {
    let schemas: Vec<(String, Value)> = Registry::builtin()
        .specs()
        .iter()
        .map(|spec| {
            (spec.name.to_string(), serde_json::from_str(spec.input_schema.as_str()).unwrap())
        })
        .collect();
    for (name, schema) in &schemas {
        assert_eq!(schema["type"], "object", "{name}");
        let text = schema.to_string();
        for noise in ["$schema", "\"title\"", "\"format\"", "\"null\"", "anyOf", "$ref"] {
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
    let world = World::new();
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
        let problem = world.inspect(tool, &input).problem.unwrap();
        assert!(problem.contains(expected), "{tool} {input}: {problem}");
    }
    let broken = world.registry.inspect("Bash", &Json::from_checked("{\"command\": \"l"));
    assert!(broken.problem.unwrap().contains("EOF"));

    let fine = world.inspect("Bash", &json!({"command": "make", "timeout": 5.0, "unknown": {}}));
    assert_eq!((fine.problem, fine.concurrency), (None, Concurrency::Exclusive));
}
