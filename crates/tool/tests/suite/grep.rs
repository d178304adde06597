//! Finding files by content.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_permission::{Rule, Rules};

use crate::world::{World, structured, text};

fn sample() -> World {
    let world = World::new();
    world.write("a.rs", "fn one() {}\nfn Two() {\n    one();\n}\n");
    world.write("src/b.py", "def one():\n    pass\n# one\n");
    world.write("src/c.rs", "nothing\n");
    world.write("out/d.rs", "one\n");
    world.write(".git/e.rs", "one\n");
    world.write("bin", b"one\0two\n");
    world.write(".gitignore", "out/\n");
    world.write(".ignore", "out/\n");
    world
}

/// What is shown, with the directory left out.
async fn shown(world: &World, input: Value) -> String {
    let outcome = world.call("Grep", input.clone()).await;
    assert!(!outcome.is_error, "{input}: {}", text(&outcome));
    text(&outcome).replace(&format!("{}/", world.root.display()), "")
}

#[tokio::test]
async fn shows_lines_files_or_counts() {
    let world = sample();
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
        assert_eq!(shown(&world, input.clone()).await, *expected, "{input}");
    }
    let result =
        structured(&world.call("Grep", json!({"pattern": "one", "output_mode": "count"})).await);
    assert_eq!((&result["numFiles"], &result["numMatches"]), (&json!(2), &json!(4)));
    let input = json!({"pattern": "one", "output_mode": "content", "head_limit": 3});
    let result = structured(&world.call("Grep", input).await);
    assert_eq!((&result["numLines"], &result["appliedLimit"]), (&json!(3), &json!(3)));
}

#[tokio::test]
async fn a_wrong_search_is_refused_before_it_runs() {
    let world = World::new();
    for (input, field) in [
        (json!({"pattern": "("}), "pattern"),
        (json!({"pattern": "a", "type": "klingon"}), "type"),
        (json!({"pattern": "a", "glob": "["}), "glob"),
        (json!({"pattern": "a", "output_mode": "poem"}), "output_mode"),
    ] {
        let problem = world.inspect("Grep", &input).problem.unwrap();
        assert!(problem.contains(&format!("field `{field}`")), "{problem}");
    }
}

#[tokio::test]
async fn passes_over_what_cannot_be_searched() {
    let world = sample();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, world.path("fifo"), fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    std::os::unix::fs::symlink(".", world.path("circle")).unwrap();
    std::os::unix::fs::symlink("/etc", world.path("away")).unwrap();
    let sparse = std::fs::File::create(world.path("sparse")).unwrap();
    sparse.set_len(10_000_000_000).unwrap();
    world.write("wide", format!("{}one\n", "x".repeat(40_000_000)));
    let began = Instant::now();
    let input = json!({"pattern": "one|root", "output_mode": "count"});
    let shown = shown(&world, input).await;
    let expected = "a.rs:2\nsrc/b.py:2\n[1 files could not be searched to their end: `wide`";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn never_shows_what_may_not_be_read() {
    let rules = Rules { deny: vec![Rule::parse("Read(.env)").unwrap()], ..Rules::default() };
    let world = World::with(|surroundings| {
        surroundings.hidden_paths.configured = rules.build_hidden_paths(&[])
    });
    world.write(".env", "KEY=1\n");
    world.write("sub/.env", "KEY=2\n");
    world.write("sub/open", "KEY=3\n");
    let input = json!({"pattern": "KEY", "output_mode": "content"});
    assert_eq!(shown(&world, input).await, "sub/open:1:KEY=3");
    // Not even when it is named.
    let input = json!({"pattern": "KEY", "path": ".env"});
    let outcome = world.call("Grep", input).await;
    assert!(outcome.is_error && text(&outcome).contains("may not be read"));
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let world = sample();
    let job = world.job();
    job.cancel.cancel();
    let outcome = world.call_in("Grep", json!({"pattern": "one"}), job).await;
    assert!(outcome.is_error);
}
