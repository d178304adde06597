//! The money limit of the real binary, which is killed again and again with requests out, its own and
//! those of agents inside it: whatever the server took for them, known or not, stays below the limit.
//! The server's own account decides, made of the requests it got.

use std::process::Child;
use std::time::Instant;

use serde_json::json;
use windlass_rehearsal::{ReceivedRequest, Rehearsal, Script, ScriptedAnswer};
use windlass_vocabulary::{Tokens, Usage};

use super::SESSION;
use crate::fixture::{PATIENCE, TestDirs, play, run};

/// In micro-dollars.
const LIMIT: u64 = 4_000_000;
/// More lives than the money lasts for.
const LIVES_MAX: usize = 100;

/// The cache is written more than read, and answers are long.
const BILL: Usage = Usage {
    input: Tokens(1_000),
    output: Tokens(5_000),
    cache_write: Tokens(2_500),
    cache_read: Tokens(500),
};

/// What is taken for a request: no more output than was allowed. Prices as listed, by the token.
fn price(request: &ReceivedRequest) -> u64 {
    let output = BILL.output.0.min(cap(request));
    let per_hundred = BILL.input.0 * 300 + BILL.cache_write.0 * 375 + BILL.cache_read.0 * 30;
    (per_hundred + output * 1_500).div_ceil(100)
}

fn cap(request: &ReceivedRequest) -> u64 {
    request.json().expect("JSON")["max_tokens"].as_u64().expect("a limit")
}

fn server() -> Rehearsal {
    let agent = json!({"description": "a task", "prompt": "spend it"});
    let script = Script::new()
        .answer(ScriptedAnswer::empty().tool("Agent", agent).when("begin").usage(BILL).repeat(0))
        .answer(
            ScriptedAnswer::empty().tool("Bash", json!({"command": "true"})).usage(BILL).repeat(0),
        );
    play(script)
}

/// Waits for so many requests, or for the end. Did they come?
fn comes(child: &mut Child, server: &Rehearsal, requests: usize) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while server.request_count() < requests {
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        assert!(Instant::now() < deadline, "it neither asks nor ends");
        std::thread::yield_now();
    }
    true
}

#[test]
fn the_limit_holds_however_often_the_process_dies() {
    let dirs = die_with_requests_out(|_| 1);
    // What nobody knows the bill of is shown beside what was billed.
    let cost = |flags: &[&str]| {
        let mut command = dirs.windlass(&["cost", SESSION]);
        run(command.args(flags)).answer().to_owned()
    };
    let told: serde_json::Value = serde_json::from_str(&cost(&["--json"])).expect("JSON");
    let figure = |name: &str| told["account"]["all"][name].as_u64().expect("a figure");
    let spent = figure("cost_micro_usd");
    let aside = figure("set_aside_micro_usd");
    assert!(aside > 0 && spent + aside <= LIMIT, "{told}");
    assert!(cost(&[]).contains("Also reserved"), "{}", cost(&[]));
}

#[test]
fn the_limit_holds_when_agents_die_with_it() {
    // Its own first request, its agent's first, its agent's second.
    drop(die_with_requests_out(|life| 1 + life % 3));
}

/// Dies each time when so many requests have come in that life, until no money is left.
fn die_with_requests_out(requests_in: impl Fn(usize) -> usize) -> TestDirs {
    let dirs = TestDirs::new();
    let server = server();
    let mut deaths = 0;
    let mut said = None;
    for life in 0..LIVES_MAX {
        let words = format!("begin {life}");
        let which = if life == 0 { "--session-id" } else { "-r" };
        let flags = ["-p", &words, which, SESSION, "--model", "claude-sonnet-4-5"];
        let rest = ["--max-budget-usd", "4", "--dangerously-skip-permissions"];
        let flags: Vec<&str> = flags.into_iter().chain(rest).collect();
        let before = server.request_count();
        let mut child = dirs.asking(&server.url(), &flags).spawn().expect("it starts");
        if !comes(&mut child, &server, before + requests_in(life)) {
            said = Some(child.wait_with_output().expect("an end"));
            break;
        }
        child.kill().expect("it is there");
        child.wait().expect("an end");
        deaths += 1;
    }
    let requests = server.requests();
    let taken: u64 = requests.iter().map(price).sum();
    let caps: Vec<u64> = requests.iter().map(cap).collect();
    println!("{deaths} deaths, {} requests, {taken} of {LIMIT} taken", requests.len());
    assert!(taken <= LIMIT, "{taken} taken of {LIMIT} in {deaths} deaths, {caps:?}");
    let said = said.expect("an end for want of money");
    let words = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(1), "{words}");
    assert!(words.contains("--max-budget-usd"), "{words}");
    // What is left may be too little even for a small answer, so the last cap need not be smaller.
    assert!(deaths > 1 && caps.last() <= caps.first(), "{deaths} deaths, {caps:?}");
    dirs
}
