//! F5: a worker in its own network namespace, and the link to the database cut.

use std::process::Command;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, TestProcess, find_windlass, is_running, until};
use crate::link::TestLink;
use crate::postgres::is_root;

/// A network namespace linked to this host.
struct TestNetwork {
    name: String,
    /// This host's end of the veth pair.
    wire: String,
    host: String,
}

impl TestNetwork {
    /// `None` if a namespace cannot be created and `WINDLASS_ALL_TESTS` is not set.
    fn make() -> Option<Self> {
        let number = std::process::id();
        // 198.18.0.0/15 is reserved for tests.
        let subnet = format!("198.{}.{}", 18 + number % 2, number / 2 % 250);
        let network = Self {
            name: format!("wlf{number}"),
            wire: format!("wlf{number}"),
            host: format!("{subnet}.1"),
        };
        let made = is_root() && ip(&["netns", "add", &network.name]);
        if !made {
            let must = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!must, "network namespaces need root and the package `iproute2`");
            eprintln!("skipped: network namespaces need root and the package `iproute2`");
            return None;
        }
        let Self { name, wire, host } = &network;
        let near = format!("{host}/24");
        let far = format!("{subnet}.2/24");
        let peer = ["peer", "name", "inside", "netns", name.as_str()];
        let add = ["link", "add", wire.as_str(), "type", "veth"];
        assert!(ip(&[&add[..], &peer[..]].concat()));
        for arguments in [
            vec!["addr", "add", &near, "dev", wire],
            vec!["link", "set", wire, "up"],
            vec!["-n", name, "addr", "add", &far, "dev", "inside"],
            vec!["-n", name, "link", "set", "inside", "up"],
            vec!["-n", name, "link", "set", "lo", "up"],
        ] {
            assert!(ip(&arguments), "{arguments:?}");
        }
        Some(network)
    }

    fn cut(&self, is_cut: bool) {
        assert!(ip(&["link", "set", &self.wire, if is_cut { "down" } else { "up" }]));
    }
}

impl Drop for TestNetwork {
    fn drop(&mut self) {
        ip(&["link", "del", &self.wire]);
        ip(&["netns", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// The worker that is cut off ends its tools before its lease ends, another one takes over, and
/// when the link is back the first one has nothing of the old session and works on.
#[test]
fn a_worker_that_is_split_from_the_database_does_nothing_more() {
    let hang = "echo begun >> {{word}}; sleep 300";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang "))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"))
        .answer(ScriptedAnswer::text("Fine.").when("good"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let Some(network) = TestNetwork::make() else { return };
    fleet.postgres.listen_also_at(&network.host);
    let store = format!("postgres://windlass@{}:{}/w", network.host, fleet.postgres.port());
    let model = fleet.model.url();
    let model_port = model.rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    let model = TestLink::start_at(&network.host, model_port);
    let directory = fleet.path("split");
    let mut command = fleet.command(&["worker", "--allow-unsandboxed", "--lease", "4"]);
    command.arg("--dir").arg(directory).arg("--windlass").arg(find_windlass());
    let mut inside = Command::new("ip");
    inside.args(["netns", "exec", &network.name]).arg(command.get_program());
    inside.args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        inside.env(name, value.unwrap());
    }
    inside
        .env("WINDLASS_STORE", store)
        .current_dir(fleet.path(""))
        .stdin(std::process::Stdio::null());
    inside.env("ANTHROPIC_BASE_URL", format!("http://{}", model.address()));
    inside.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut first = TestProcess::start(&mut inside);
    first.wait_for_line("is ready");
    let session = fleet.submit(1, &format!("hang {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let tool = fleet.effects().display().to_string();
    network.cut(true);
    until("the tool is ended by its guard", || !is_running(&tool));
    let lease = "select lease_until > now() from windlass.workers";
    assert_eq!(fleet.postgres.query(lease), "t", "the tool is gone before the lease is");
    let second = fleet.start_worker("two", &["--lease", "4"]);
    fleet.wait_for_state(&session, "done");
    let told = "select max(number), max(epoch) from windlass.events";
    let before = fleet.postgres.query(told);
    second.kill();
    network.cut(false);
    first.wait_for_line("lost to another worker");
    let next = fleet.submit(2, "good");
    fleet.wait_for_state(&next, "done");
    let old = format!("{told} where session = '{session}'");
    assert_eq!(fleet.postgres.query(&old), before);
    assert_eq!(fleet.read_effects().lines().count(), 1, "the tool ran once");
}
