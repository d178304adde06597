//! The demonstration, piped: plain, honest about what is rehearsed, and it ends well.

use crate::fixture::{RunningCommand, TestDirs, run};

#[test]
fn piped_it_is_plain_and_ends_well() {
    let dirs = TestDirs::new();
    let mut command = dirs.windlass(&["demo"]);
    // A terminal that could do everything changes nothing when the output is a pipe.
    command.env("TERM", "xterm-256color");
    let finished = run(&mut command);
    let text = finished.answer();
    assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text}");
    for words in [
        "The model is rehearsed",
        "> The date test fails.",
        "(thinking)",
        "● Bash ./test.sh",
        "5 passed, 1 failed",
        "! 529: the model is overloaded",
        "● Read days_in_month.sh",
        "the text above is discarded",
        "● Edit days_in_month.sh",
        "│ -    if [ $((year % 4)) -eq 0 ]; then",
        "│ +        [ $((year % 400)) -eq 0 ]; then",
        "6 passed, 0 failed",
        "All six months are right now.",
        "5 turns, 7 requests, 5 tool calls, 2 faults survived (1 overload, 1 cut stream), cost 0",
        "The model was rehearsed",
        "export ANTHROPIC_API_KEY=",
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(dirs.leftovers(), Vec::<String>::new());
}

#[test]
fn colours_can_be_forced_and_forbidden() {
    let dirs = TestDirs::new();
    let mut command = dirs.windlass(&["demo", "--fast"]);
    command.env("CLICOLOR_FORCE", "1");
    let finished = run(&mut command);
    assert!(finished.answer().contains("\u{1b}[32m"), "{finished:?}");
    command.env("NO_COLOR", "1");
    let finished = run(&mut command);
    assert!(!finished.answer().contains('\u{1b}'), "{finished:?}");
}

#[test]
fn the_project_is_kept_on_request() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.windlass(&["demo", "--fast", "--keep"]));
    let text = finished.answer();
    let kept = dirs.leftovers();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(text.contains(kept[0].trim_start_matches("tmp/")), "{text}");
    let folder = dirs.work().parent().expect("the folder").join(&kept[0]);
    let mended = std::fs::read_to_string(folder.join("days_in_month.sh")).expect("the script");
    assert!(mended.contains("year % 400"), "{mended}");
}

#[test]
fn a_reader_that_went_away_ends_it() {
    let dirs = TestDirs::new();
    let finished = RunningCommand::start_unread(&mut dirs.windlass(&["demo"])).finish();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert_eq!(dirs.leftovers(), Vec::<String>::new());
}
