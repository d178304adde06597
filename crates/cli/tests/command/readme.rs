//! What the README shows is what the command does.

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

const README: &str = include_str!("../../../../README.md");

/// The code blocks of this kind, in order.
fn blocks(kind: &str) -> Vec<&'static str> {
    let open = format!("```{kind}\n");
    README.split(&open).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_first_two_commands_are_demo_and_test() {
    let commands: Vec<&str> = blocks("sh")
        .iter()
        .flat_map(|block| block.lines())
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(commands[..2], ["cargo run --release -- demo", "cargo test --workspace"]);
}

#[test]
fn the_recorded_session_is_what_the_demo_prints() {
    let finished = run(&mut TestDirs::new().windlass(&["demo"]));
    let recorded = blocks("text")
        .into_iter()
        .find(|block| block.starts_with("windlass demo"))
        .expect("a recorded session");
    assert_eq!(lasting(recorded), lasting(finished.answer()));
}

/// The lines that are the same in every session: not the folder, the port, the length of a wait,
/// or in which order two files were read.
fn lasting(text: &str) -> Vec<&str> {
    let differs = ["project  ", "model    ", "! the connection failed", "● Read", "lines"];
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !differs.iter().any(|part| line.contains(part)))
        .collect()
}

#[test]
fn every_flag_it_names_is_known() {
    let dirs = TestDirs::new();
    let mut known = String::new();
    known.push_str(run(&mut dirs.windlass(&["--help"])).answer());
    let commands = "demo,rehearse,record,bound,models,sessions list,sessions export,context,stats,cost,\
                    key set,key list";
    for command in commands.split(',') {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        known.push_str(run(&mut dirs.windlass(&words)).answer());
    }
    let of_cargo = ["--release", "--workspace", "--path"];
    let words = README.split(|c: char| c.is_whitespace() || "`|,;.()[]=\"".contains(c));
    let flags: Vec<&str> = words
        .filter(|word| {
            word.strip_prefix("--").is_some_and(|name| name.starts_with(char::is_alphabetic))
        })
        .filter(|word| !of_cargo.contains(word))
        .collect();
    assert!(flags.len() > 5, "{flags:?}");
    for flag in flags {
        assert!(known.contains(flag), "{flag}");
    }
}

#[test]
fn the_configuration_it_shows_is_read() {
    let dirs = TestDirs::new();
    let shown = blocks("toml").pop().expect("a configuration");
    dirs.config(shown);
    let finished = run(&mut dirs.windlass(&["models", "mine/large"]));
    assert!(finished.answer().contains("128,000"), "{finished:?}");
    let mut command = dirs.windlass(&["-p", "hi", "--model", "mine/large"]);
    // The fallback's key comes from a program that is not here.
    let finished = run(command.env("MINE_API_KEY", "x").env("PATH", "/nowhere"));
    let command = shown.split("key_command = [\"").nth(1).expect("a program that gives keys");
    let program = command.split('"').next().expect("its name");
    assert!(finished.error_line(1).contains(&format!("`{program}`")), "{finished:?}");
}

#[test]
fn it_lists_the_tools_a_model_is_offered() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    run(&mut dirs.asking(&server.url(), &["-p", "hi"])).answer();
    let body = server.requests()[0].json().expect("JSON");
    let tools = body["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let listed = format!("- Tools: {}.", names.join(", "));
    assert!(README.contains(&listed), "the README should say `{listed}`");
}

/// The example of the library is part of the one that is compiled and run with the documentation.
#[test]
fn the_example_of_the_library_is_the_one_that_is_compiled() {
    let documentation = include_str!("../../../driver/src/lib.rs");
    let examples = blocks("rust");
    assert_eq!(examples.len(), 1);
    for line in examples[0].lines().filter(|line| !line.is_empty()) {
        assert!(documentation.contains(&format!("//! {line}\n")), "{line}");
    }
}
