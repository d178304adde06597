//! The list of models.

use serde_json::Value;

use crate::fixture::{TestDirs, run};

fn list_models(dirs: &TestDirs, variables: &[(&str, &str)]) -> Value {
    let mut command = dirs.windlass(&["models", "--json"]);
    let finished = run(command.envs(variables.iter().copied()));
    serde_json::from_str(finished.answer()).expect("one object")
}

fn row<'a>(all: &'a Value, name: &str) -> &'a Value {
    let rows = all["models"].as_array().expect("rows");
    rows.iter().find(|row| row["model"] == name).unwrap_or_else(|| panic!("{name} is missing"))
}

#[test]
fn it_tells_facts_prices_and_which_keys_are_set() {
    let dirs = TestDirs::new();
    let all = list_models(&dirs, &[("OPENAI_API_KEY", "secret-thing")]);
    let opus = row(&all, "anthropic/claude-opus-5-5");
    assert_eq!(opus["window"], 1_000_000);
    assert_eq!(opus["output_max"], 128_000);
    assert_eq!(opus["usd_per_million_tokens"]["output"], 20.0);
    assert_eq!(opus["usd_per_million_tokens"]["cache_read"], 0.2);
    assert_eq!(opus["key"], "missing");
    assert_eq!(opus["thinking"], "always");
    assert_eq!(row(&all, "openai/gpt-5.5")["key"], "set");
    let chat = row(&all, "openai-chat/gpt-6.1-sol");
    assert_eq!((&chat["key"], &chat["tools"]), (&"set".into(), &false.into()));
    assert!(!all.to_string().contains("secret-thing"));
    assert!(all["facts"].as_str().is_some_and(|day| day.len() == 10), "the day of the facts");
    assert_eq!(all["default_model"], "anthropic/claude-sonnet-5-5");
}

#[test]
fn a_table_for_people_and_the_users_own_rows() {
    let dirs = TestDirs::new();
    let path = dirs.config(
        "[provider.mine]\nwire = \"gemini\"\nbase_url = \"http://127.0.0.1:9\"\n\
         [model.\"mine/small\"]\nwindow = 9_000\nprice = { input = 0.125, output = 1 }\n",
    );
    let finished = run(&mut dirs.windlass(&["models"]));
    let text = finished.answer();
    let line = text.lines().find(|line| line.starts_with("mine/small")).expect("a row");
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[..5], ["mine/small", "9,000", "4,500", "0.125", "1"], "{line}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let finished = run(&mut dirs.windlass(&["models", "HAIKU"]));
    assert!(finished.answer().lines().count() < 8, "{finished:?}");
    let finished = run(&mut dirs.windlass(&["models", "no-such-thing"]));
    assert!(finished.error_line(2).contains("no-such-thing"));
}
