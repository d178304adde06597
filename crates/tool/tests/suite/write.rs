//! The writing tool: new files, replaced files, and a disk that refuses.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::test_project::{TestProject, structured, text};

#[tokio::test]
async fn creates_and_replaces() {
    let project = TestProject::new();
    let path = project.path("a/b/c.txt");
    let input = json!({"file_path": path, "content": "one\n"});
    let outcome = project.call("Write", input.clone()).await;
    assert!(outcome.changed_workspace);
    assert_eq!(text(&outcome), format!("Created `{}`.", path.display()));
    let expected = json!({"type": "create", "filePath": path, "content": "one\n",
                          "structuredPatch": [], "originalFile": null});
    assert_eq!(structured(&outcome), expected);
    assert_eq!(std::fs::read(&path).unwrap(), b"one\n");

    // It knows what it wrote itself; what others wrote must be read first.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let input = json!({"file_path": path, "content": "two\n"});
    let outcome = project.call("Write", input.clone()).await;
    assert_eq!(structured(&outcome)["type"], "update");
    assert_eq!(structured(&outcome)["structuredPatch"][0]["lines"], json!(["-one", "+two"]));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    std::fs::write(&path, "three\n").unwrap();
    let outcome = project.call("Write", input.clone()).await;
    assert!(outcome.is_error && text(&outcome).contains("has changed since it was read"));
    project.read(&path).await;
    assert!(!project.call("Write", input).await.is_error);
    assert_eq!(std::fs::read(&path).unwrap(), b"two\n");
}

#[tokio::test]
async fn refuses_in_words() {
    let project = TestProject::new();
    project.write("file", "x");
    std::fs::create_dir(project.path("directory")).unwrap();
    std::os::unix::fs::symlink("/tmp/nowhere-at-all", project.path("dangling")).unwrap();
    let long = "x".repeat(300);
    let cases = [
        ("file", "has not been read yet"),
        ("directory", "is a directory"),
        ("file/below", "Not a directory"),
        ("dangling", "symbolic link"),
        (long.as_str(), "File name too long"),
        ("/proc/windlass", "could not be"),
    ];
    for (path, why) in cases {
        let outcome = project.call("Write", json!({"file_path": path, "content": "y"})).await;
        assert!(outcome.is_error && !outcome.changed_workspace, "{path}");
        assert!(text(&outcome).contains(why), "{path}: {}", text(&outcome));
    }
    assert_eq!(std::fs::read(project.path("file")).unwrap(), b"x");
}
