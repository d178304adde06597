//! `ls` is the table of contents of the specification: file names, enum members and scenario names
//! are the same, for all four families.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_vocabulary::{Terminal, Transition};

/// The files of a folder by name without their ending, those that begin like this. A folder that
/// cannot be read has none, which is never what is expected.
fn stems(folder: &str, ending: &str, beginning: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&path).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter_map(|name| name.to_str()?.strip_suffix(ending).map(str::to_owned))
        .filter(|stem| stem != "mod" && stem.starts_with(beginning))
        .collect()
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> BTreeSet<String> {
    all.iter().map(|one| name(*one).to_owned()).collect()
}

#[test]
fn transitions_are_seven() {
    let members = names(Transition::ALL, Transition::name);
    assert_eq!(members.len(), 7);
    assert_eq!(stems("crates/engine/src/transition", ".rs", ""), members);
    assert_eq!(stems("scenarios/transition", ".txt", ""), members);
}

#[test]
fn terminals_are_eleven() {
    let members = names(Terminal::ALL, Terminal::name);
    assert_eq!(members.len(), 11);
    assert_eq!(stems("crates/engine/src/terminal", ".rs", ""), members);
    assert_eq!(stems("scenarios/terminal", ".txt", ""), members);
}

#[test]
fn context_levels_are_five_and_numbered() {
    let files = stems("crates/engine/src/context", ".rs", "level_");
    assert_eq!(stems("scenarios/context", ".txt", ""), files);
    assert_numbered(&files, "level_", 5);
}

#[test]
fn normalisation_steps_are_four_and_numbered() {
    let files = stems("crates/dialect/src/normalize", ".rs", "step_");
    assert_eq!(stems("scenarios/normalize", ".txt", ""), files);
    assert_numbered(&files, "step_", 4);
}

/// Numbered from 1 without a gap, so that a listing is in order.
fn assert_numbered(files: &BTreeSet<String>, beginning: &str, count: usize) {
    let numbers: Vec<usize> = files
        .iter()
        .filter_map(|stem| stem.strip_prefix(beginning)?.split('_').next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
}

/// A scenario of a transition or terminal really shows it.
#[test]
fn scenarios_show_what_they_are_named_after() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let transitions = Transition::ALL.iter().map(|one| ("transition", one.name(), "> continue "));
    let terminals = Terminal::ALL.iter().map(|one| ("terminal", one.name(), "> finish "));
    for (family, name, line) in transitions.chain(terminals) {
        let path = root.join(family).join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path).expect("the scenario can be read");
        let wanted = format!("{line}{name}");
        assert!(text.contains(&wanted), "{family}/{name}.txt never says `{wanted}`");
    }
}
