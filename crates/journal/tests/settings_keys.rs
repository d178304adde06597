//! The settings in a journal keep every key and its order, however the engine groups its fields.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a panic is how a test says no"
)]

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use windlass_engine::settings::{After, Settings};

/// A session that an earlier version wrote, before the fields were grouped.
const RECORDED: &str = include_str!("../../cli/tests/command/recorded/session_2026_11.jsonl");

#[test]
fn recorded_settings_are_read_and_written_again_byte_for_byte() {
    let recorded = recorded_settings();
    assert_eq!(recorded.len(), 2);
    for text in recorded {
        let settings: Settings = serde_json::from_str(text).expect("settings");
        assert_eq!(serde_json::to_string(&settings).expect("JSON"), text);
    }
}

#[test]
fn new_settings_have_the_keys_of_recorded_ones_in_their_order() {
    let recorded: Settings = serde_json::from_str(recorded_settings()[0]).expect("settings");
    let mut settings = Settings::new(recorded.model);
    // Left out while nothing of it is on.
    settings.after = After { title: true, ..After::default() };
    let written = serde_json::to_string(&settings).expect("JSON");
    // What was added since stands between the others; who does not know it skips it.
    let added = ["circle_guard", "blanks_results"];
    let written = keys(&written);
    assert!(added.iter().all(|key| written.iter().any(|written| written == key)), "{written:?}");
    let older: Vec<_> = written.into_iter().filter(|key| !added.contains(&key.as_str())).collect();
    assert_eq!(older, keys(recorded_settings()[0]));
    let limits = serde_json::to_string(&settings.limits).expect("JSON");
    assert!(recorded_settings()[0].contains(&limits), "{limits}");
}

/// The text of every `Configured` event.
fn recorded_settings() -> Vec<&'static str> {
    let starts = RECORDED.match_indices("{\"Configured\":").map(|(at, found)| at + found.len());
    starts
        .map(|start| {
            let text = &RECORDED[start..];
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
            values.next().expect("a value").expect("JSON");
            &text[..values.byte_offset()]
        })
        .collect()
}

fn keys(object: &str) -> Vec<String> {
    let Keys(keys) = serde_json::from_str(object).expect("an object");
    keys
}

/// The keys of an object as they stand there; the map of `serde_json` would sort them.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Keys, M::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}
