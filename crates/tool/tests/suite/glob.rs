//! Finding files by name.

use serde_json::json;
use windlass_permission::{Rule, Rules};

use crate::test_project::{TestProject, structured, text};

async fn names(project: &TestProject, pattern: &str) -> Vec<String> {
    let outcome = project.call("Glob", json!({ "pattern": pattern })).await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    let root = format!("{}/", project.root.display());
    let names = structured(&outcome)["filenames"].as_array().unwrap().clone();
    let mut names: Vec<_> = names
        .iter()
        .map(|name| name.as_str().unwrap().strip_prefix(&root).unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn finds_what_matches_and_nothing_else() {
    let project = TestProject::new();
    for name in [
        "a.rs",
        "b.md",
        "src/c.rs",
        "src/deep/d.rs",
        ".github/e.yml",
        ".git/f.rs",
        "out/g.rs",
        "secret/h.rs",
    ] {
        project.write(name, "x");
    }
    project.write(".gitignore", "out/\n");
    std::os::unix::fs::symlink(".", project.path("circle")).unwrap();
    std::os::unix::fs::symlink("/etc", project.path("away")).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("*.rs", &["a.rs"]),
        ("**/*.rs", &["a.rs", "secret/h.rs", "src/c.rs", "src/deep/d.rs"]),
        ("src/*.rs", &["src/c.rs"]),
        ("./src/**", &["src/c.rs", "src/deep/d.rs"]),
        ("**/*.{md,yml}", &[".github/e.yml", "b.md"]),
        ("away/**", &[]),
        ("circle/**", &[]),
        ("nothing", &[]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(names(&project, pattern).await, *expected, "{pattern}");
    }

    let rules = Rules { deny: vec![Rule::parse("Read(secret/**)").unwrap()], ..Rules::default() };
    let directories = vec![project.root.display().to_string()];
    let other = TestProject::with(|context| {
        context.hidden_paths.configured = rules.build_hidden_paths(&directories);
    });
    other.write("secret/h.rs", "x");
    other.write("open/h.rs", "x");
    assert_eq!(names(&other, "**/h.rs").await, ["open/h.rs"]);
}

#[tokio::test]
async fn shows_the_newest_first_and_no_more_than_a_hundred() {
    let project = TestProject::new();
    for number in 0..120 {
        let path = project.write(&format!("{number}.txt"), "x");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + number);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let outcome = project.call("Glob", json!({"pattern": "*.txt"})).await;
    let shown = text(&outcome);
    assert!(shown.starts_with(&project.path("119.txt").display().to_string()), "{shown}");
    assert!(shown.ends_with("[The newest 100 of 120 files]"), "{shown}");
    let result = structured(&outcome);
    assert_eq!((&result["numFiles"], &result["totalMatches"]), (&json!(100), &json!(120)));
    assert_eq!(result["truncated"], true);
}

#[tokio::test]
async fn stays_where_it_was_sent() {
    let project = TestProject::new();
    std::os::unix::fs::symlink("/etc", project.path("away")).unwrap();
    for pattern in ["/etc/*", "../*", "a/../../*", "~/x", "[", "a/{b"] {
        let problem = project.inspect("Glob", &json!({ "pattern": pattern })).problem.unwrap();
        assert!(problem.contains("field `pattern`"), "{problem}");
    }
    for (path, why) in
        [("away", "symbolic link to `/etc`"), ("/proc", "no files"), ("gone", "does not exist")]
    {
        let outcome = project.call("Glob", json!({"pattern": "*", "path": path})).await;
        assert!(outcome.is_error && text(&outcome).contains(why), "{}", text(&outcome));
    }
    let outcome = project.call("Glob", json!({"pattern": "*.xyz"})).await;
    assert!(text(&outcome).contains("use `**/*.xyz`"));
}
