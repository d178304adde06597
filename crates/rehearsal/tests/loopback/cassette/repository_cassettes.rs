//! The cassettes of this repository: each can be replayed, and each can be made again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_rehearsal::cassette::{ExchangeEnd as Ended, RecordedExchange};
use windlass_rehearsal::{Cassette, Script};

use super::{all_recorded, recorder, replay};
use crate::client::{Client, End, Seen, play};

/// Every cassette, by its place.
fn repository_cassettes() -> Vec<(PathBuf, Cassette)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
    let mut all = Vec::new();
    for wire in folders(&root) {
        for folder in folders(&wire) {
            let cassette = Cassette::load(&folder).expect("a cassette");
            all.push((folder, cassette));
        }
    }
    assert!(all.len() >= 3, "there are cassettes");
    all
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).expect("a folder");
    entries.map(|entry| entry.expect("a file").path()).filter(|path| path.is_dir()).collect()
}

fn ask(address: SocketAddr, exchange: &RecordedExchange) -> Seen {
    let request = &exchange.request;
    let body = std::str::from_utf8(&request.body).expect("text");
    Client::connect(address).post(&request.path, &[], body)
}

#[test]
fn every_cassette_is_replayed_to_the_byte() {
    for (folder, cassette) in repository_cassettes() {
        let replay = replay(&folder);
        for exchange in cassette.exchanges() {
            let seen = ask(replay.address(), exchange);
            let head = exchange.head.as_ref().expect("a head");
            assert_eq!(seen.status, Some(head.status), "{folder:?}");
            assert_eq!(seen.body, exchange.body(), "{folder:?}");
            let end = if exchange.end == Ended::Complete { End::Complete } else { End::Closed };
            assert_eq!(seen.end, end, "{folder:?}");
            for (name, value) in &head.headers {
                assert_eq!(seen.header(name), Some(value.as_str()), "{folder:?}");
            }
        }
        let summary = replay.finish_blocking();
        assert!(summary.is_exact(), "{folder:?}: {summary:?}");
    }
}

/// The whole events of an answer, or its JSON, by value: the order of keys is nobody's promise.
fn events(exchange: &RecordedExchange) -> Vec<Value> {
    let text = String::from_utf8(exchange.body()).expect("text");
    if let Ok(value) = serde_json::from_str(&text) {
        return vec![value];
    }
    let payloads = text.split_inclusive("\n\n").filter_map(|event| event.strip_suffix("\n\n"));
    let payloads = payloads.filter_map(|event| event.lines().last()?.strip_prefix("data: "));
    payloads.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into())).collect()
}

#[test]
fn every_cassette_can_be_recorded_again_from_its_script() {
    for (folder, cassette) in repository_cassettes() {
        let script = std::fs::read_to_string(folder.join("script.toml")).expect("a script");
        let rehearsal = play(Script::parse(&script).expect("a script"));
        let out = tempfile::tempdir().expect("a folder");
        let recorder = recorder(&rehearsal.url(), out.path());
        for exchange in cassette.exchanges() {
            ask(recorder.address(), exchange);
        }
        all_recorded(&recorder.finish_blocking(), cassette.exchanges().len());
        assert_eq!(rehearsal.answers_left(), [""; 0], "{folder:?}");
        let again = Cassette::load(out.path()).expect("a cassette");
        for (again, first) in again.exchanges().iter().zip(cassette.exchanges()) {
            let shown = |one: &RecordedExchange| {
                let head = one.head.as_ref().expect("a head");
                (head.status, head.headers.clone(), one.end, events(one))
            };
            assert_eq!(shown(again), shown(first), "{folder:?}");
            assert!(!events(first).is_empty(), "{folder:?}");
        }
    }
}
