//! What fills the window is shown, made shorter, and kept on request; what was paid is told.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};
use windlass_vocabulary::{Tokens, Usage};

use crate::fixture::{TestDirs, play, run};

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> String {
    run(&mut dirs.asking(&server.url(), arguments)).answer().to_owned()
}

#[test]
fn the_window_is_drawn_from_the_journal_and_from_the_session() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("notes.txt"), "word ".repeat(2_000)).expect("a file");
    let path = dirs.file("notes.txt");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": path.to_string_lossy()})))
        .answer(ScriptedAnswer::text("Read."));
    let server = play(script);
    ask(&dirs, &server, &["-p", "read it"]);
    let drawn = run(&mut dirs.windlass(&["context"])).answer().to_owned();
    for words in ["system prompt", "tools", "requests", "results of Read", "free", "█"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    assert!(drawn.contains("of 1,000,000 tokens") || drawn.contains(" tokens ("), "{drawn}");
    let object = run(&mut dirs.windlass(&["context", "--json"])).answer().to_owned();
    let object: Value = serde_json::from_str(&object).expect("one object");
    let parts = object["parts"].as_array().expect("parts");
    let sum: u64 = parts.iter().filter_map(|part| part["tokens"].as_u64()).sum();
    let total = object["total"].as_u64().expect("a total");
    assert!(sum > 0 && sum.abs_diff(total) * 20 <= total, "{sum} {total}");
    // The session itself says the same, and no model is asked for it.
    let count = server.request_count();
    let asked = ask(&dirs, &server, &["-p", "/context", "-c"]);
    assert!(asked.contains("results of Read") && asked.contains("free"), "{asked}");
    let json = ask(&dirs, &server, &["-p", "/context", "-c", "--output-format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(json["context"]["window"], object["window"]);
    assert_eq!(server.request_count(), count);
    // In a new session it shows what there is before anything is said, and keeps nothing.
    let fresh = ask(&dirs, &server, &["-p", "/context"]);
    assert!(fresh.contains("tools") && !fresh.contains("results of"), "{fresh}");
    assert_eq!(dirs.journals().len(), 1);
}

#[test]
fn history_is_made_shorter_by_hand_and_that_is_told() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(ScriptedAnswer::text("A summary: the tests are called one and two."))
        .answer(ScriptedAnswer::text("Here I am.").repeat(0));
    let server = play(script);
    ask(&dirs, &server, &["-p", "tell me a lot"]);
    ask(&dirs, &server, &["-p", "tell me more", "-c"]);
    let told = ask(&dirs, &server, &["-p", "/compact the test names", "-c"]);
    assert!(told.starts_with("History was shortened, about "), "{told}");
    let asked = server.requests()[2].json().expect("JSON").to_string();
    assert!(asked.contains("the test names"), "{asked}");
    ask(&dirs, &server, &["-p", "where are we?", "-c"]);
    let said = server.requests()[3].json().expect("JSON")["messages"].to_string();
    assert!(said.contains("are called one and two") && !said.contains("long long"), "{said}");
    let drawn = run(&mut dirs.windlass(&["context"])).answer().to_owned();
    assert!(drawn.contains("summaries") && drawn.contains("history summarised"), "{drawn}");
    assert!(drawn.contains("What was left out"), "{drawn}");
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "/compact"]));
    assert!(finished.error_line(2).contains("add -c"), "{finished:?}");
}

#[test]
fn a_pin_outlives_a_summary_and_a_path_is_no_command() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("Noted."))
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(ScriptedAnswer::text("A summary."))
        .answer(ScriptedAnswer::text("Here I am.").repeat(0));
    let server = play(script);
    ask(&dirs, &server, &["-p", "/pin never push to main"]);
    let said = server.requests()[0].json().expect("JSON")["messages"].to_string();
    assert!(said.contains("never push to main") && !said.contains("/pin"), "{said}");
    ask(&dirs, &server, &["-p", "tell me a lot", "-c"]);
    ask(&dirs, &server, &["-p", "tell me more", "-c"]);
    ask(&dirs, &server, &["-p", "/compact", "-c"]);
    ask(&dirs, &server, &["-p", "/etc/hosts says what?", "-c"]);
    let said = server.requests()[4].json().expect("JSON")["messages"].to_string();
    assert!(said.contains("never push to main") && !said.contains("long long"), "{said}");
    assert!(said.contains("/etc/hosts says what?"), "{said}");
}

#[test]
fn what_was_paid_is_told_in_cents_and_to_the_millionth() {
    let dirs = TestDirs::new();
    let usage =
        |input, output| Usage { input: Tokens(input), output: Tokens(output), ..Usage::default() };
    let script = Script::new()
        .answer(ScriptedAnswer::text("one").usage(usage(1_000, 100)))
        .answer(ScriptedAnswer::text("two").usage(usage(2_001, 7)));
    let server = play(script);
    let price = ["--price", "3,15"];
    ask(&dirs, &server, &["-p", "hi", price[0], price[1]]);
    ask(&dirs, &server, &["-p", "again", "-c", price[0], price[1]]);
    // 3,001 at 3 and 107 at 15 dollars a million.
    let micros = 3_001 * 3 + 107 * 15;
    let all = run(&mut dirs.windlass(&["cost", "--json"])).answer().to_owned();
    let all: Value = serde_json::from_str(&all).expect("one object");
    assert_eq!(all["account"]["all"]["cost_micro_usd"], micros);
    assert_eq!(all["account"]["models"]["claude-sonnet-5-5"]["requests"], 2);
    let table = run(&mut dirs.windlass(&["cost", "--all", "--by", "day"])).answer().to_owned();
    assert!(table.starts_with("day") && table.contains("$0.02"), "{table}");
    let told = ask(&dirs, &server, &["-p", "/cost", "-c"]);
    assert!(told.contains("$0.02"), "{told}");
    let stats = run(&mut dirs.windlass(&["stats", "--json"])).answer().to_owned();
    let stats: Value = serde_json::from_str(&stats).expect("one object");
    assert_eq!(stats["totals"]["requests"], 2);
    assert!(stats["input_error_basis_points"]["last_half"].is_u64(), "{stats}");
    let words = run(&mut dirs.windlass(&["stats"])).answer().to_owned();
    assert!(words.contains("median error") && words.contains("cache misses"), "{words}");
}
