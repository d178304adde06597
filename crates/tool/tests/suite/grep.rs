//! Finding files by content.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_permission::{Rule, Rules};

use crate::test_project::{TestProject, structured, text};

fn sample() -> TestProject {
    let project = TestProject::new();
    project.write("a.rs", "fn one() {}\nfn Two() {\n    one();\n}\n");
    project.write("src/b.py", "def one():\n    pass\n# one\n");
    project.write("src/c.rs", "nothing\n");
    project.write("out/d.rs", "one\n");
    project.write(".git/e.rs", "one\n");
    project.write("bin", b"one\0two\n");
    project.write(".gitignore", "out/\n");
    project.write(".ignore", "out/\n");
    project
}

/// What is shown, with the directory left out.
async fn shown(project: &TestProject, input: Value) -> String {
    let outcome = project.call("Grep", input.clone()).await;
    assert!(!outcome.is_error, "{input}: {}", text(&outcome));
    text(&outcome).replace(&format!("{}/", project.root.display()), "")
}

#[tokio::test]
async fn shows_lines_files_or_counts() {
    let project = sample();
    let cases: &[(Value, &str)] = &[
        (json!({"pattern": "one", "glob": "*.rs"}), "a.rs"),
        (json!({"pattern": "one", "output_mode": "count"}), "a.rs:2\nsrc/b.py:2"),
        (
            json!({"pattern": "one", "output_mode": "content", "type": "py"}),
            "src/b.py:1:def one():\nsrc/b.py:3:# one",
        ),
        (
            json!({"pattern": "one", "output_mode": "content", "path": "a.rs", "-n": false}),
            "a.rs:fn one() {}\na.rs:    one();",
        ),
        (
            json!({"pattern": "TWO", "output_mode": "content", "-i": true, "-A": 1}),
            "a.rs:2:fn Two() {\na.rs-3-    one();",
        ),
        (
            json!({"pattern": "Two|pass", "output_mode": "content", "-C": 1}),
            "a.rs-1-fn one() {}\na.rs:2:fn Two() {\na.rs-3-    one();\n--\n\
          src/b.py-1-def one():\nsrc/b.py:2:    pass\nsrc/b.py-3-# one",
        ),
        (
            json!({"pattern": "o.e", "output_mode": "content", "-o": true, "glob": "!*.py"}),
            "a.rs:1:one\na.rs:3:one",
        ),
        (
            json!({"pattern": "one.*Two", "multiline": true, "output_mode": "content"}),
            "a.rs:1:fn one() {}\na.rs:2:fn Two() {",
        ),
        (
            json!({"pattern": "one", "output_mode": "content", "head_limit": 1, "offset": "1"}),
            "a.rs:3:    one();\n[1 of 4 shown; the next is offset 2]",
        ),
        (json!({"pattern": "one", "path": "out", "output_mode": "count"}), "out/d.rs:1"),
        (json!({"pattern": "one", "glob": "src/*"}), "src/b.py"),
        (json!({"pattern": "zzz"}), "No matches found."),
    ];
    for (input, expected) in cases {
        assert_eq!(shown(&project, input.clone()).await, *expected, "{input}");
    }
    let result =
        structured(&project.call("Grep", json!({"pattern": "one", "output_mode": "count"})).await);
    assert_eq!((&result["numFiles"], &result["numMatches"]), (&json!(2), &json!(4)));
    let input = json!({"pattern": "one", "output_mode": "content", "head_limit": 3});
    let result = structured(&project.call("Grep", input).await);
    assert_eq!((&result["numLines"], &result["appliedLimit"]), (&json!(3), &json!(3)));
}

#[tokio::test]
async fn a_wrong_search_is_refused_before_it_runs() {
    let project = TestProject::new();
    for (input, field) in [
        (json!({"pattern": "("}), "pattern"),
        (json!({"pattern": "a", "type": "klingon"}), "type"),
        (json!({"pattern": "a", "glob": "["}), "glob"),
        (json!({"pattern": "a", "output_mode": "poem"}), "output_mode"),
    ] {
        let problem = project.inspect("Grep", &input).problem.unwrap();
        assert!(problem.contains(&format!("field `{field}`")), "{problem}");
    }
}

#[tokio::test]
async fn passes_over_what_cannot_be_searched() {
    let project = sample();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, project.path("fifo"), fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(project.path("socket")).unwrap();
    std::os::unix::fs::symlink(".", project.path("circle")).unwrap();
    std::os::unix::fs::symlink("/etc", project.path("away")).unwrap();
    let sparse = std::fs::File::create(project.path("sparse")).unwrap();
    sparse.set_len(4_000_000_000_000).unwrap();
    project.write("wide", format!("{}one\n", "x".repeat(40_000_000)));
    let began = Instant::now();
    let input = json!({"pattern": "one|root", "output_mode": "count"});
    let shown = shown(&project, input).await;
    let expected = "a.rs:2\nsrc/b.py:2\n[1 files could not be searched to their end: `wide`";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

#[tokio::test]
async fn never_shows_what_may_not_be_read() {
    let rules = Rules { deny: vec![Rule::parse("Read(.env)").unwrap()], ..Rules::default() };
    let project = TestProject::with(|context| {
        context.hidden_paths.configured = rules.build_hidden_paths(&[]);
    });
    project.write(".env", "KEY=1\n");
    project.write("sub/.env", "KEY=2\n");
    project.write("sub/open", "KEY=3\n");
    let input = json!({"pattern": "KEY", "output_mode": "content"});
    assert_eq!(shown(&project, input).await, "sub/open:1:KEY=3");
    // Not even when it is named.
    let input = json!({"pattern": "KEY", "path": ".env"});
    let outcome = project.call("Grep", input).await;
    assert!(outcome.is_error && text(&outcome).contains("may not be read"));
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let project = sample();
    let call = project.call_context();
    call.cancel.cancel();
    let outcome = project.call_in("Grep", json!({"pattern": "one"}), call).await;
    assert!(outcome.is_error);
}
