//! Traffic recorded over real sockets, and played back with the real server gone.

mod load;
mod record;
mod replay;
mod repository_cassettes;
mod round_trip;
mod secrets;
mod upstream;
mod with_canaries;

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::cassette::RecordSummary;
use windlass_rehearsal::{Cassette, RecordOptions, Recorder, Replay, ReplayOptions};

use crate::client::{Client, Seen};

/// A request of one of the wires: its path and its body.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) path: &'static str,
    pub(super) body: Value,
}

/// One request for each wire, streaming or not.
pub(super) fn asks(streaming: bool) -> Vec<Ask> {
    let verb = if streaming {
        "/v1beta/models/g:streamGenerateContent?alt=sse"
    } else {
        "/v1beta/models/g:generateContent"
    };
    vec![
        Ask {
            path: "/v1/messages",
            body: json!({"model": "m", "max_tokens": 9, "stream": streaming,
                "messages": [{"role": "user", "content": "hello"}]}),
        },
        Ask {
            path: "/v1/responses",
            body: json!({"model": "m", "stream": streaming, "input": [
                {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "hello"}]}]}),
        },
        Ask {
            path: "/v1/chat/completions",
            body: json!({"model": "m", "stream": streaming,
                "messages": [{"role": "user", "content": "hello"}]}),
        },
        Ask {
            path: verb,
            body: json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}),
        },
    ]
}

pub(super) fn recorder(upstream: &str, folder: &Path) -> Recorder {
    Recorder::start_blocking(RecordOptions::new(upstream, folder)).expect("record")
}

pub(super) fn replay(folder: &Path) -> Replay {
    replay_with(folder, ReplayOptions::default())
}

pub(super) fn replay_with(folder: &Path, options: ReplayOptions) -> Replay {
    let cassette = Cassette::load(folder).expect("a cassette");
    Replay::start_blocking(cassette, options).expect("replay")
}

/// Asks on a connection of its own.
pub(super) fn ask(address: std::net::SocketAddr, ask: &Ask) -> Seen {
    Client::connect(address).post(ask.path, &[], &ask.body.to_string())
}

/// Everything in a folder, names included, as one text.
pub(super) fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        text.push_str(&path.to_string_lossy());
        text.push('\n');
        text.push_str(&std::fs::read_to_string(path).expect("text"));
    }
    text
}

/// Nothing was left unrecorded.
pub(super) fn all_recorded(summary: &RecordSummary, exchanges: usize) {
    assert_eq!(summary.reasons, [], "everything is recorded");
    assert_eq!((summary.exchanges, summary.unrecorded), (exchanges, 0));
}
