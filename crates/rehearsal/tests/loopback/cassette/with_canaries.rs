//! Any secret, anywhere, in any pieces: it is not in the file, not even in pieces.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_rehearsal::Cassette;

use super::upstream::{Upstream, chunked};
use super::{all_text, recorder};
use crate::client::Client;

/// Where a canary may be, besides the header that gives it away.
#[derive(Clone, Debug)]
struct Plan {
    canary: String,
    header: &'static str,
    /// Around it in the request.
    before: String,
    after: String,
    /// Are letters of it written as escapes?
    is_escaped: bool,
    /// How many characters of the answer are in each event.
    per_event: usize,
    /// Where the answer is cut into chunks.
    cuts: Vec<prop::sample::Index>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let canary = prop_oneof!["[A-Za-z0-9_-]{8,40}", "[a-z]{4}[ -~]{8,20}[a-z]{2}"];
    let header =
        prop::sample::select(vec!["authorization", "x-api-key", "x-goog-api-key", "cookie"]);
    let around = ("[ -~]{0,12}", "[ -~]{0,12}");
    let cuts = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    (canary, header, around, any::<bool>(), 1..20_usize, cuts).prop_map(
        |(canary, header, (before, after), is_escaped, per_event, cuts)| Plan {
            canary: canary.trim().replace([';', '='], "x"),
            header,
            before,
            after,
            is_escaped,
            per_event,
            cuts,
        },
    )
}

/// A text as a JSON string, with its letters as they are or all as escapes.
fn quoted(text: &str, is_escaped: bool) -> String {
    if !is_escaped {
        return json!(text).to_string();
    }
    let escapes: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escapes}\"")
}

fn run(plan: &Plan, folder: &Path) -> (usize, usize) {
    let Plan { canary, before, after, .. } = plan;
    let text = format!("{before}{canary}{after}");
    let characters: Vec<char> = text.chars().collect();
    let events: String = characters
        .chunks(plan.per_event)
        .map(|piece| {
            let piece = quoted(&piece.iter().collect::<String>(), plan.is_escaped);
            format!("event: x\ndata: {{\"type\":\"delta\",\"delta\":{{\"text\":{piece}}}}}\n\n")
        })
        .collect();
    let answer = format!(": {canary}\n\n{events}data: {}\n\n", quoted(&text, false));
    let mut cuts: Vec<usize> = plan.cuts.iter().map(|cut| cut.index(answer.len())).collect();
    cuts.extend([0, answer.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let chunks: Vec<&[u8]> =
        cuts.windows(2).map(|two| &answer.as_bytes()[two[0]..two[1]]).collect();
    let upstream = Upstream::new(vec![chunked(&chunks, true)]);
    let recorder = recorder(&upstream.url, folder);
    let value = match plan.header {
        "authorization" => format!("Bearer {canary}"),
        "cookie" => format!("a=b; sid={canary}"),
        _ => canary.clone(),
    };
    let body =
        format!("{{\"a\":{},\"b\":[{}]}}", quoted(&text, plan.is_escaped), quoted(canary, false));
    let seen = Client::connect(recorder.address()).post("/a", &[(plan.header, &value)], &body);
    assert_eq!(seen.text(), answer);
    let summary = recorder.finish_blocking();
    (summary.exchanges, summary.unrecorded)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_canary_reaches_the_disk(plan in plans()) {
        let folder = tempfile::tempdir().expect("a folder");
        let (recorded, unrecorded) = run(&plan, folder.path());
        prop_assert_eq!(recorded + unrecorded, 1);
        let text = all_text(folder.path());
        prop_assert!(!text.contains(&plan.canary), "{}", text);
        if recorded == 1 {
            let cassette = Cassette::load(folder.path()).expect("a cassette");
            let exchange = &cassette.exchanges()[0];
            let body: Value = serde_json::from_slice(&exchange.request.body).expect("JSON");
            for place in [&body["a"], &body["b"][0]] {
                prop_assert!(!place.as_str().expect("text").contains(&plan.canary));
            }
            let answer = String::from_utf8(exchange.body()).expect("text");
            let mut said = String::new();
            for line in answer.lines().filter_map(|line| line.strip_prefix("data: {")) {
                let event: Value = serde_json::from_str(&format!("{{{line}")).expect("JSON");
                said.push_str(event["delta"]["text"].as_str().expect("text"));
            }
            prop_assert!(!said.contains(&plan.canary), "{}", said);
            prop_assert!(!answer.contains(&plan.canary), "{}", answer);
        }
    }

    /// Ordinary secrets are not only kept out: the exchange is recorded without them.
    #[test]
    fn an_ordinary_canary_does_not_cost_the_recording(canary in "[A-Za-z0-9]{12,40}", cut in 0..200_usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = Plan {
            canary,
            header: "x-api-key",
            before: "it is ".to_owned(),
            after: ", I think".to_owned(),
            is_escaped: cut % 2 == 0,
            per_event: 1 + cut % 9,
            cuts: Vec::new(),
        };
        prop_assert_eq!(run(&plan, folder.path()), (1, 0));
        prop_assert!(all_text(folder.path()).contains("<secret-1>"));
    }
}
