//! Notebooks: shown cell by cell, changed one cell at a time, every other byte kept.

use serde_json::{Value, json};
use windlass_vocabulary::ToolResultPart;

use crate::test_project::{TestProject, structured, text};

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"tags": [1e-05, 2.50]},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["3\n", "4\n"]},
    {"output_type": "display_data", "data": {"image/png": "aGVsbG8="}},
    {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
   ],
   "source": [
    "print(1 + 2)\n",
    "print(4)"
   ]
  }
 ],
 "metadata": {"language_info": {"name": "python"}, "odd":   "spacing"},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[tokio::test]
async fn cells_are_shown_with_what_they_gave() {
    let project = TestProject::new();
    let path = project.write("a.ipynb", NOTEBOOK);
    let outcome = project.read(&path).await;
    let [ToolResultPart::Text(shown), ToolResultPart::Media(picture)] = outcome.content.as_slice()
    else {
        panic!("{outcome:?}");
    };
    let expected = "<cell id=\"intro\" markdown>\n# Title\n</cell>\n<cell id=\"sum\" python>\n\
                    print(1 + 2)\nprint(4)\n</cell>\n<output of=\"sum\">\n3\n4\n[A picture, shown \
                    below]\nValueError: no\n</output>\n";
    assert_eq!(shown, expected);
    assert_eq!((&*picture.media_type, &*picture.data), ("image/png", "aGVsbG8="));
    assert_eq!(structured(&outcome)["file"]["cells"][1]["cell_id"], "sum");
    // As plain text it can be read too, and a broken one says what is wrong.
    let plain = project.call("Read", json!({"file_path": path, "offset": 2, "limit": 1})).await;
    assert!(text(&plain).starts_with("     2\t \"cells\": [\n"));
    let broken = project.read(&project.write("b.ipynb", "{\"cells\": [")).await;
    assert!(broken.is_error && text(&broken).contains("Give an offset"));
}

#[tokio::test]
async fn one_cell_changes_and_no_other_byte() {
    let source = |lines: &str| format!("\"source\": [\n    {lines}\n   ]");
    let replaced = NOTEBOOK
        .replace(
            &source("\"print(1 + 2)\\n\",\n    \"print(4)\""),
            &source("\"x = 1\\n\",\n    \"x\""),
        )
        .replace("\"execution_count\": 3", "\"execution_count\": null");
    let (before_outputs, rest) = replaced.split_once("\"outputs\": [").unwrap();
    let (_, after_outputs) = rest.split_once("\n   ],").unwrap();
    let replaced = format!("{before_outputs}\"outputs\": [],{after_outputs}");
    let new = "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"cell-2-new\",\n   \
               \"metadata\": {},\n   \"source\": [\n    \"new\"\n   ]\n  },\n";
    let inserted = NOTEBOOK.replacen(
        "  {\n   \"cell_type\": \"code\"",
        &format!("{new}  {{\n   \"cell_type\": \"code\""),
        1,
    );
    let intro = "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"intro\",\n   \"metadata\": {},\n   \
                 \"source\": [\n    \"# Title\"\n   ]\n  },\n";
    let cases = [
        (json!({"cell_id": "sum", "new_source": "x = 1\nx"}), replaced),
        (
            json!({"cell_id": "intro", "new_source": "new", "edit_mode": "insert", "cell_type": "markdown"}),
            inserted,
        ),
        (json!({"cell_id": "intro", "edit_mode": "delete"}), NOTEBOOK.replace(intro, "")),
    ];
    for (mut input, expected) in cases {
        let project = TestProject::new();
        let path = project.write("a.ipynb", NOTEBOOK);
        input["notebook_path"] = json!(path);
        let early = project.call("NotebookEdit", input.clone()).await;
        assert!(text(&early).contains("has not been read yet"));
        project.read(&path).await;
        let outcome = project.call("NotebookEdit", input.clone()).await;
        assert!(!outcome.is_error && outcome.changed_workspace, "{}", text(&outcome));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "{input}");
    }
}

#[tokio::test]
async fn every_other_way_leaves_a_notebook_too() {
    let project = TestProject::new();
    let path = project.write("a.ipynb", r#"{"cells":[],"nbformat":4,"nbformat_minor":2}"#);
    project.read(&path).await;
    let steps = [
        (json!({"new_source": "b", "edit_mode": "insert", "cell_type": "code"}), "b"),
        (json!({"new_source": "a", "edit_mode": "insert", "cell_type": "markdown"}), "a b"),
        (
            json!({"cell_id": "cell-1", "new_source": "c", "edit_mode": "insert", "cell_type": "code"}),
            "a b c",
        ),
        (json!({"cell_id": "cell-0", "new_source": "A", "cell_type": "code"}), "A b c"),
        (json!({"cell_id": "cell-2", "edit_mode": "delete"}), "A b"),
        (json!({"cell_id": "cell-0", "edit_mode": "delete"}), "b"),
        (json!({"cell_id": "cell-0", "edit_mode": "delete"}), ""),
    ];
    for (mut input, expected) in steps {
        input["notebook_path"] = json!(path);
        let outcome = project.call("NotebookEdit", input.clone()).await;
        assert!(!outcome.is_error, "{input}: {}", text(&outcome));
        let now: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let sources: Vec<&str> = now["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["source"][0].as_str().unwrap())
            .collect();
        assert_eq!(sources.join(" "), expected);
    }
    let refused = [
        (json!({"notebook_path": path, "edit_mode": "insert"}), "field `cell_type`"),
        (json!({"notebook_path": path, "new_source": "x"}), "field `cell_id`"),
    ];
    for (input, why) in refused {
        assert!(project.inspect("NotebookEdit", &input).problem.unwrap().contains(why));
    }
    let input = json!({"notebook_path": path, "cell_id": "nowhere", "new_source": "x"});
    assert!(text(&project.call("NotebookEdit", input).await).contains("has no cell `nowhere`"));
}
