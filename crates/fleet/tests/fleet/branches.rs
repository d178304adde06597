//! Results as branches: pushed by the worker, and never over another person's work.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, run_git, until};
use crate::gateway::{call, printed, token};

/// A bare repository with one commit on `trunk`.
fn make_origin(fleet: &TestFleet) -> PathBuf {
    let work = fleet.path("work");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("base.txt"), "base\n").unwrap();
    std::fs::write(work.join("old.txt"), "old\n").unwrap();
    run_git(&work, &["init", "-q", "-b", "trunk"]);
    run_git(&work, &["add", "-A"]);
    run_git(&work, &["commit", "-q", "-m", "base"]);
    let origin = fleet.path("origin.git");
    run_git(&work, &["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    origin
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = command.args(arguments).current_dir(repository).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn changing_script() -> Script {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let change = "rm old.txt; mkdir -p 'a dir'; printf 'new\\n' > 'a dir/new \"1\".txt'; \
         printf '\\0\\1' > b.bin; ln -s base.txt link; echo '#!/bin/sh' > run.sh; chmod +x run.sh; \
         echo changed >> base.txt; echo changed-it";
    let wait = "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo changed-it";
    Script::new()
        .answer(bash(change).when("work on it").repeat(0))
        .answer(bash(wait).when("wait for it").repeat(0))
        .answer(bash("echo again >> base.txt; echo went-on").when("go on").repeat(0))
        .answer(ScriptedAnswer::text("Changed.").when_result("changed-it").repeat(0))
        .answer(ScriptedAnswer::text("Went on.").when_result("went-on").repeat(0))
        .answer(ScriptedAnswer::text("Nothing.").when("look").repeat(0))
}

fn show(url: &str, token: &str, session: &str) -> Value {
    let head = format!("GET /v1/sessions/{session} HTTP/1.1\r\nAuthorization: Bearer {token}");
    serde_json::from_str(&call(url, &head, "").1).unwrap()
}

/// The files of a session are one commit on its branch; the next run replaces it.
#[test]
fn what_a_session_changed_is_pushed_as_a_branch() {
    let Some(fleet) = TestFleet::start(changing_script()) else { return };
    let origin = make_origin(&fleet);
    let (_gateway, url) = fleet.start_gateway();
    let worker = fleet.start_worker("one", &[]);
    let submitter = token(&fleet, "sam", "team", "submit");
    let address = format!("file://{}", origin.display());
    let submit = |prompt: &str, branch: &str| {
        let arguments = [
            "submit",
            prompt,
            "--git",
            &address,
            "--push-branch",
            branch,
            "--permission-mode",
            "bypassPermissions",
        ];
        let id = printed(&fleet.client(&url, &submitter, &arguments));
        fleet.wait_for_state(&id, "done");
        let row = show(&url, &submitter, &id);
        (id, row)
    };
    let (id, row) = submit("work on it", "windlass/one");
    assert_eq!((&row["branch"], &row["branch_problem"]), (&json!("windlass/one"), &Value::Null));
    let files = git(&origin, &["ls-tree", "-r", "--name-only", "-z", "windlass/one"]);
    let files: Vec<&str> = files.split('\0').filter(|name| !name.is_empty()).collect();
    assert_eq!(files, ["a dir/new \"1\".txt", "b.bin", "base.txt", "link", "run.sh"]);
    assert_eq!(git(&origin, &["show", "windlass/one:base.txt"]), "base\nchanged");
    let modes = git(&origin, &["ls-tree", "windlass/one", "link", "run.sh"]);
    assert!(modes.contains("120000") && modes.contains("100755"), "{modes}");
    assert_eq!(git(&origin, &["cat-file", "-s", "windlass/one:b.bin"]), "2");
    let message = git(&origin, &["log", "-1", "--format=%B", "windlass/one"]);
    assert!(message.contains(&format!("Windlass-Session: {id}")), "{message}");
    let count = |branch: &str| git(&origin, &["rev-list", "--count", &format!("trunk..{branch}")]);
    assert_eq!(count("windlass/one"), "1");

    // A message goes on with the session, also at another worker.
    worker.kill();
    let _second = fleet.start_worker("two", &[]);
    fleet.add_message(&id, 7, "go on");
    until("the second run is pushed", || {
        git(&origin, &["show", "windlass/one:base.txt"]) == "base\nchanged\nagain"
    });
    fleet.wait_for_state(&id, "done");
    assert_eq!(count("windlass/one"), "1");

    // Without a change there is no branch.
    let (_, row) = submit("look", "windlass/two");
    assert_eq!((&row["branch"], &row["branch_problem"]), (&Value::Null, &Value::Null));
    assert!(!git(&origin, &["branch", "--list"]).contains("two"));

    // Another person's branch stays, and the session says so.
    run_git(&fleet.path("work"), &["push", "-q", origin.to_str().unwrap(), "trunk:windlass/three"]);
    let before = git(&origin, &["rev-parse", "windlass/three", "trunk"]);
    for branch in ["windlass/three", "trunk", "windlass/one"] {
        let (_, row) = submit("work on it", branch);
        let problem = row["branch_problem"].as_str().unwrap();
        assert!(problem.contains("not this session's") && row["branch"].is_null(), "{problem}");
    }
    assert_eq!(git(&origin, &["rev-parse", "windlass/three", "trunk"]), before);
    assert_eq!(git(&origin, &["show", "windlass/one:base.txt"]), "base\nchanged\nagain");

    plant_and_push(&fleet, &url, &submitter, &address);

    // Rows of a batch have branches with their numbers.
    let rows = fleet.path("rows.csv");
    std::fs::write(&rows, "what,team\nwork on it,red\nlook,blue\n").unwrap();
    let arguments = [
        "batch",
        rows.to_str().unwrap(),
        "--template",
        "{what}",
        "--git",
        &address,
        "--branch-prefix",
        "night/{team}-",
        "--permission-mode",
        "bypassPermissions",
    ];
    let report = printed(&fleet.client(&url, &submitter, &arguments));
    assert!(report.contains("| night/red-1 |"), "{report}");
    assert!(git(&origin, &["branch", "--list"]).contains("night/red-1"));
}

/// Nothing that a session plants in its own clone runs when the worker pushes, and its remotes are not
/// asked.
fn plant_and_push(fleet: &TestFleet, url: &str, token: &str, address: &str) {
    let arguments = [
        "submit",
        "wait for it",
        "--git",
        address,
        "--push-branch",
        "windlass/four",
        "--permission-mode",
        "bypassPermissions",
    ];
    let id = printed(&fleet.client(url, token, &arguments));
    let workspace = fleet.path(&format!("two/sessions/{id}/workspace"));
    until("the tool runs", || workspace.join("begun").exists());
    let trap = format!("#!/bin/sh\ntouch {}\n", fleet.path("trapped").display());
    std::fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
    for name in ["pre-push", "reference-transaction", "post-index-change"] {
        let hook = workspace.join(".git/hooks").join(name);
        std::fs::write(&hook, &trap).unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    let program = format!("touch {}", fleet.path("trapped").display());
    let settings = format!(
        "[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n[remote \"origin\"]\n\
         \turl = /none\n\tpushurl = /none\n[url \"/none\"]\n\tinsteadOf = file://\n"
    );
    let mut config = std::fs::read_to_string(workspace.join(".git/config")).unwrap();
    config.push_str(&settings);
    std::fs::write(workspace.join(".git/config"), config).unwrap();
    std::fs::write(workspace.join("go"), "").unwrap();
    fleet.wait_for_state(&id, "done");
    let row = show(url, token, &id);
    assert_eq!(row["branch"], "windlass/four", "{row}");
    assert!(!fleet.path("trapped").exists());
}

/// A worker that dies after the push and before it said so: the next one finds that it is done.
#[test]
fn a_push_that_was_not_recorded_is_found() {
    let Some(fleet) = TestFleet::start(changing_script()) else { return };
    let origin = make_origin(&fleet);
    let spec = json!({ "permission_mode": "bypassPermissions", "workspace": {
        "git": format!("file://{}", origin.display()), "push_branch": "windlass/one" } });
    let worker = fleet.start_worker("one", &["--lease", "2"]);
    // Nothing is recorded of the push, as if the worker died just then.
    fleet.postgres.query(
        "create function windlass.lose() returns trigger language plpgsql as $$ begin \
         perform pg_sleep(60); return new; end $$; \
         create trigger lose before update of branch on windlass.sessions \
         for each row when (new.branch is not null) execute function windlass.lose()",
    );
    let session = fleet.submit_with(1, "work on it", &spec.to_string());
    until("it is pushed", || git(&origin, &["branch", "--list"]).contains("windlass/one"));
    worker.kill();
    fleet.postgres.query(
        "select pg_terminate_backend(pid) from pg_stat_activity \
         where pid <> pg_backend_pid() and query like '%branch%'",
    );
    fleet.postgres.query("drop trigger lose on windlass.sessions");
    let commit = git(&origin, &["rev-parse", "windlass/one"]);
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    fleet.wait_for_state(&session, "done");
    assert_eq!(
        fleet.postgres.query("select branch, branch_commit from windlass.sessions"),
        format!("windlass/one|{commit}")
    );
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("Changed.") && fleet.model.request_count() == 2, "{result}");
}

/// A tenant pushes only where the administrator says, and only names that are branches.
#[test]
fn a_tenant_pushes_only_where_it_may() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    printed(&fleet.run(&["store", "tenant", "guests"]));
    let guest = token(&fleet, "gus", "guests", "submit");
    let submit = |git: &str, branch: &str| {
        let workspace = json!({ "git": git, "push_branch": branch });
        let body = json!({ "prompt": "x", "spec": { "workspace": workspace } });
        let head = format!("POST /v1/sessions HTTP/1.1\r\nAuthorization: Bearer {guest}");
        call(&url, &head, &body.to_string())
    };
    let (public, own) = ("https://example.org/one", "ssh://git@git.example/team/one.git");
    let refused = submit(public, "guests/1");
    assert!(refused.0 == 400 && refused.1.contains("--push-prefix"), "{refused:?}");
    let tenant = ["store", "tenant", "guests", "--push-prefix", "guests/"];
    assert!(printed(&fleet.run(&tenant)).contains("pushes branches guests/"));
    // A public repository is open to all, and the worker's keys are not for all.
    assert_eq!(submit(public, "guests/1").0, 400);
    let tenant = ["store", "tenant", "guests", "--repository", "ssh://git@git.example/team/"];
    printed(&fleet.run(&tenant));
    assert_eq!(submit(own, "guests/1").0, 201);
    for branch in ["main", "guests", "guests/../main", "guests/", "guests/a b", "guests/x:main"] {
        assert_eq!(submit(own, branch).0, 400, "{branch}");
    }
    printed(&fleet.run(&["store", "tenant", "guests", "--push-prefix", ""]));
    assert_eq!(submit(own, "guests/1").0, 400);
}
