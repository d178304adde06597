//! The editing tool: what it changes, what it refuses, and that nothing else ever changes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_vocabulary::ToolOutcome;

use crate::test_project::{TestProject, structured, text};

async fn edit(project: &TestProject, path: &Path, old: &str, new: &str) -> ToolOutcome {
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    project.call("Edit", input).await
}

#[tokio::test]
async fn replaces_exact_text_and_nothing_else() {
    let project = TestProject::new();
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a\nb\nc\n", "b", "x", b"a\nx\nc\n"),
        (b"a\nb", "b", "x\n", b"a\nx\n"),
        (b"a\r\nb\r\nc\r\n", "b\nc", "x\ny\nz", b"a\r\nx\r\ny\r\nz\r\n"),
        (b"a\r\nb\nc\n", "b\nc", "x\ny", b"a\r\nx\ny\n"),
        (b"\xef\xbb\xbfa\nb\n", "a\n", "", b"\xef\xbb\xbfb\n"),
        (b"\xff\xc3(\nb\n\xe9", "b", "\u{e9}", b"\xff\xc3(\n\xe9\n\xe9"),
        (b"f(a, b)\n", "(a, b)", "($1, \\1)", b"f($1, \\1)\n"),
    ];
    for (before, old, new, after) in cases {
        let path = project.write("a.txt", before);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o754)).unwrap();
        project.read(&path).await;
        let outcome = edit(&project, &path, old, new).await;
        let shown = text(&outcome);
        assert!(!outcome.is_error && outcome.changed_workspace, "{shown}");
        assert_eq!(std::fs::read(&path).unwrap(), *after, "{shown}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o754);
    }
    assert_eq!(std::fs::read_dir(&project.root).unwrap().count(), 1, "temporary files were left");
}

#[tokio::test]
async fn reports_the_change_as_hunks() {
    let project = TestProject::new();
    let path = project.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    project.read(&path).await;
    let outcome = edit(&project, &path, "5\n", "five\nfive and a half\n").await;
    assert_eq!(text(&outcome), format!("Changed `{}` at line 5.", path.display()));
    let expected = json!({
        "filePath": path, "oldString": "5\n", "newString": "five\nfive and a half\n",
        "originalFile": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "userModified": false, "replaceAll": false,
        "structuredPatch": [{
            "oldStart": 2, "oldLines": 7, "newStart": 2, "newLines": 8,
            "lines": [" 2", " 3", " 4", "-5", "+five", "+five and a half", " 6", " 7", " 8"],
        }],
    });
    assert_eq!(structured(&outcome), expected);
}

#[tokio::test]
async fn a_file_must_have_been_read_and_not_changed_since() {
    let project = TestProject::new();
    let path = project.write("a.txt", "one\n");
    let refused = |outcome: &ToolOutcome, why: &str| {
        assert!(outcome.is_error && !outcome.changed_workspace);
        assert!(text(outcome).contains(why), "{}", text(outcome));
    };
    refused(&edit(&project, &path, "one", "two").await, "has not been read yet");

    project.read(&path).await;
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, "ONE\n").unwrap();
    // Same length, same time: only the content can tell.
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    refused(&edit(&project, &path, "ONE", "two").await, "has changed since it was read");
    assert_eq!(std::fs::read(&path).unwrap(), b"ONE\n");

    // Touching it changes nothing, and our own edits are known.
    project.read(&path).await;
    project.bash("touch a.txt").await;
    assert!(!edit(&project, &path, "ONE", "two").await.is_error);
    assert!(!edit(&project, &path, "two", "three").await.is_error);
    assert_eq!(std::fs::read(&path).unwrap(), b"three\n");

    // A file longer than the buffers is known by its whole content too.
    let path = project.write("long.txt", format!("start\n{}", "x\n".repeat(200_000)));
    let input = json!({"file_path": path, "limit": 1});
    project.call("Read", input).await;
    project.bash("touch long.txt").await;
    assert!(!edit(&project, &path, "start", "begin").await.is_error);
}

#[tokio::test]
async fn says_why_a_text_was_not_found() {
    let project = TestProject::new();
    let content = "fn main() {\n\tprintln!(\"it’s\");\n\tif a  &&  b {\n\t\tc();\n\t}\n}\n\nc();\n";
    let path = project.write("a.rs", content);
    project.read(&path).await;
    let cases = [
        (
            "c();",
            "stands in `",
            " 2 times, at lines 4, 8. Add lines around it until it is unique, or set \
             `replace_all`.\n     4\t\t\tc();\n     8\tc();",
        ),
        ("println!(\"it's\");", "Only quotation marks", "     2\t\tprintln!(\"it’s\");"),
        (
            "    if a && b {\n        c();",
            "Only spaces, tabs or line ends",
            "     3\t\tif a  &&  b {",
        ),
        ("  println!( \"it's\" );", "Only white space, quotation", "     2\t"),
        ("     7\t\n     8\tc();", "the numbers that Read shows", ""),
        ("fn main() {\n\treturn;", "Its first line `fn main() {` stands at line 1", "differs"),
        ("nowhere", "Nothing like it was found", ""),
    ];
    for (old, why, more) in cases {
        let outcome = edit(&project, &path, old, "x").await;
        let shown = text(&outcome);
        assert!(
            outcome.is_error && shown.contains(why) && shown.contains(more),
            "{old:?}: {shown}"
        );
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    let same = json!({"file_path": path, "old_string": "a", "new_string": "a"});
    assert!(project.inspect("Edit", &same).problem.unwrap().contains("nothing to change"));
}

/// What is shown after a try that differs in indentation is what the next try needs.
#[tokio::test]
async fn the_text_that_is_shown_makes_the_next_try_succeed() {
    let project = TestProject::new();
    let path = project.write("a.rs", "fn a() {\n    one();\n\ttwo();\n}\n");
    project.read(&path).await;
    let refused = edit(&project, &path, "  one();\n  two();\n", "three();\n").await;
    let words = text(&refused);
    assert!(
        refused.is_error && words.contains("Only spaces, tabs or line ends differ."),
        "{words}"
    );
    let (_, shown) = words.split_once("There it reads:\n").expect("the text of the file");
    // As with Read, the line without its number is the text.
    let copied: Vec<&str> =
        shown.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
    let done = edit(&project, &path, &copied.join("\n"), "    three();").await;
    assert!(!done.is_error, "{}", text(&done));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "fn a() {\n    three();\n}\n");
}

#[tokio::test]
async fn an_empty_old_text_creates_a_file() {
    let project = TestProject::new();
    let path = project.path("new/dir/a.txt");
    assert!(edit(&project, &path, "", "hello\n").await.changed_workspace);
    assert_eq!(std::fs::read(&path).unwrap(), b"hello\n");
    let outcome = edit(&project, &path, "", "again\n").await;
    assert!(outcome.is_error && text(&outcome).contains("exists"));
    assert!(!edit(&project, &path, "hello", "bye").await.is_error);
}

#[tokio::test]
async fn never_writes_through_a_link_or_out_of_a_directory_that_is_one() {
    let project = TestProject::new();
    let target = project.write("target.txt", "one\n");
    std::os::unix::fs::symlink(&target, project.path("link.txt")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path("out")).unwrap();
    project.read(&target).await;
    for (path, old) in [("link.txt", "one"), ("link.txt", ""), ("out/x.txt", ""), ("out/a/b", "")] {
        let outcome = edit(&project, &project.path(path), old, "two").await;
        assert!(outcome.is_error, "{path}: {}", text(&outcome));
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"one\n");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// What the tool must do, said in the plainest way.
fn model(content: &str, old: &str, new: &str, replace_all: bool) -> Option<String> {
    if old == new {
        return None;
    }
    let newlines = content.matches('\n').count();
    let crlf = newlines > 0 && content.matches("\r\n").count() == newlines;
    let ends = |text: &str| match crlf {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    let (old, new) = (ends(old), ends(new));
    match content.matches(&old).count() {
        0 => None,
        1 => Some(content.replacen(&old, &new, 1)),
        _ if replace_all => Some(content.replace(&old, &new)),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_plain_model(
        content in "(a|b|é|\n|\r\n){0,12}",
        old in "(a|b|é|\n|\r\n){1,3}",
        new in "(a|x|\n){0,3}",
        replace_all: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (after, outcome) = runtime.block_on(async {
            let project = TestProject::new();
            let path = project.write("a.txt", &content);
            project.read(&path).await;
            let input: Value = json!({"file_path": path, "old_string": old, "new_string": new,
                                      "replace_all": replace_all});
            let outcome = project.call("Edit", input).await;
            (std::fs::read_to_string(&path).unwrap(), outcome)
        });
        let expected = model(&content, &old, &new, replace_all);
        prop_assert_eq!(outcome.is_error, expected.is_none(), "{:?}", outcome);
        prop_assert_eq!(outcome.changed_workspace, expected.is_some());
        prop_assert_eq!(after, expected.unwrap_or(content));
    }
}
