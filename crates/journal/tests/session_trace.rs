//! A trace that goes on with a journal that grew is the trace of the whole journal.
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod session_fixtures;

use std::io::Write;
use std::sync::{Arc, Mutex};

use session_fixtures::recorded;
use windlass_journal::session_trace::{SessionTrace, lock_trace};
use windlass_journal::{Durability, JournalWriter, trace_session};

fn render(trace: &Mutex<SessionTrace>) -> String {
    format!("{:#?}", lock_trace(trace))
}

#[test]
fn a_trace_goes_on_where_it_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (whole_path, path) =
        (directory.path().join("whole.jsonl"), directory.path().join("s.jsonl"));
    let mut grown_to_more = 0;
    for seed in 0..20 {
        let (settings, events) = recorded(seed, 60, 1);
        let _ = std::fs::remove_file(&whole_path);
        let (mut writer, _) =
            JournalWriter::open(&whole_path, Durability::Written, &settings).unwrap();
        for event in &events {
            writer.append_events(1_700_000_000_000, &[event]).unwrap();
        }
        drop(writer);
        std::fs::copy(&whole_path, &path).unwrap();
        let expected = Arc::default();
        trace_session(&path, &settings, &expected).unwrap();
        let bytes = std::fs::read(&whole_path).unwrap();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
        for cuts in [[1, 2], [2, 5], [4, 9]] {
            let cuts = cuts.map(|part| ends[(ends.len() * part / 10).min(ends.len() - 1)]);
            std::fs::write(&path, &bytes[..cuts[0]]).unwrap();
            let trace = Arc::default();
            let mut tracer = trace_session(&path, &settings, &trace).unwrap();
            let first = lock_trace(&trace).items.len();
            for part in [&bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]] {
                let mut file = std::fs::File::options().append(true).open(&path).unwrap();
                file.write_all(part).unwrap();
                assert!(tracer.can_go_on());
                tracer = tracer.advance().unwrap();
            }
            assert_eq!(render(&trace), render(&expected), "seed {seed}, {cuts:?}");
            grown_to_more += usize::from(lock_trace(&trace).items.len() > first);
        }
        // Behind half a line nothing can be read on.
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        assert!(!trace_session(&path, &settings, &Arc::default()).unwrap().can_go_on());
    }
    assert!(grown_to_more > 30, "{grown_to_more}");
}
