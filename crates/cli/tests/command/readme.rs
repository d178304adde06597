//! What the README and the pages of `docs/` show is what the command does. That their flags and commands exist is a rule
//! of tidy.

use std::path::{Path, PathBuf};

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

const README: &str = include_str!("../../../../README.md");
const DEMO: &str = include_str!("../../../../docs/demo.md");
const FEATURES: &str = include_str!("../../../../docs/features.md");
const LIBRARY: &str = include_str!("../../../../docs/library.md");
const MODELS: &str = include_str!("../../../../docs/models.md");
const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

/// The code blocks of this kind, in order.
fn blocks(page: &'static str, kind: &str) -> Vec<&'static str> {
    let open = format!("```{kind}\n");
    page.split(&open).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_first_two_commands_are_demo_and_test() {
    let commands: Vec<&str> = blocks(README, "sh")
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
    let recorded = blocks(DEMO, "text")
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
fn the_configuration_it_shows_is_read() {
    let dirs = TestDirs::new();
    let shown = blocks(MODELS, "toml").pop().expect("a configuration");
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
    assert!(FEATURES.contains(&listed), "docs/features.md should say `{listed}`");
}

/// The example of the library is part of the one that is compiled and run with the documentation.
#[test]
fn the_example_of_the_library_is_the_one_that_is_compiled() {
    let documentation = include_str!("../../../driver/src/lib.rs");
    for page in [README, LIBRARY] {
        let examples = blocks(page, "rust");
        assert_eq!(examples.len(), 1);
        // The compiled one adds a tool, and compares the answer.
        let is_same = |line: &&str| {
            !line.is_empty() && !line.starts_with("use ") && !line.starts_with("println!")
        };
        for line in examples[0].lines().filter(is_same) {
            let compiled = line.replace("let tools", "let mut tools");
            assert!(documentation.contains(&format!("//! {compiled}\n")), "{line}");
        }
    }
}

#[test]
fn the_page_of_the_library_names_every_public_module() {
    let source = include_str!("../../../driver/src/lib.rs");
    let modules = source.lines().filter_map(|line| {
        let renamed = line.strip_prefix("pub use ").and_then(|rest| rest.split(" as ").nth(1));
        let module = line.strip_prefix("pub mod ").or(renamed)?;
        Some(module.trim_end_matches([';', '{', ' ']))
    });
    let modules: Vec<&str> = modules.collect();
    assert!(modules.len() > 5, "{modules:?}");
    for module in modules {
        assert!(LIBRARY.contains(&format!("`{module}`")), "docs/library.md does not name {module}");
    }
}

/// Runs the tutorial line by line. A `…` in what it shows stands for anything.
#[test]
fn the_tutorial_runs_as_it_is_written() {
    let dirs = TestDirs::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_windlass"));
    let mut script = String::from("set -e\nexec 2>&1\n");
    for block in blocks(TUTORIAL, "sh") {
        script.push_str(block);
        script.push_str("echo @@block\n");
    }
    let mut command = std::process::Command::new("bash");
    let mut path = binary.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a path"));
    let environment = dirs.windlass(&["--version"]);
    command.env_clear();
    command.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["-c", &script]).env("PATH", path).current_dir(dirs.work());
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let finished = run(&mut command);
    let mut printed = finished.answer().split("@@block\n").filter(|part| !part.is_empty());
    for shown in blocks(TUTORIAL, "text") {
        let output = printed.next().expect("output for every block that shows some");
        assert!(fits(&shown.lines().collect::<Vec<_>>(), output), "{shown}\nbut was\n{output}");
    }
    assert_eq!(printed.next(), None);
}

/// A line that is only `…` stands for any number of lines.
fn fits(shown: &[&str], output: &str) -> bool {
    let lines: Vec<&str> = output.lines().collect();
    let Some((first, rest)) = shown.split_first() else { return lines.is_empty() };
    if *first == "…" {
        return (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..].join("\n")));
    }
    let Some((line, others)) = lines.split_first() else { return false };
    line_fits(first, line) && fits(rest, &others.join("\n"))
}

fn line_fits(shown: &str, line: &str) -> bool {
    let Some((head, tail)) = shown.split_once('…') else { return shown == line };
    line.starts_with(head.trim_end()) && line.ends_with(tail.trim_start())
}

#[test]
fn every_link_leads_somewhere_and_every_page_is_in_the_index() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs");
    let mut pages: Vec<PathBuf> = vec![root.join("README.md")];
    for folder in [docs.clone(), docs.join("wire")] {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        pages.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "md")),
        );
    }
    let index = std::fs::read_to_string(docs.join("README.md")).expect("the index");
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap_or_default();
            let is_there = page.parent().is_some_and(|folder| folder.join(file).exists());
            assert!(is_there, "{} links to {target}", page.display());
        }
        let name = page.strip_prefix(&docs).unwrap_or(page).display().to_string();
        let is_listed = index.contains(&format!("({name})")) || page.ends_with("README.md");
        assert!(is_listed, "docs/README.md does not list {name}");
    }
}
