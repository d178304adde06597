//! The text that is being written, its cursor, and what comes back from the history.

use windlass_tui::composer::Composer;
use windlass_tui::input::CursorMove;
use windlass_tui::typed_prompt::TypedPrompt;

#[test]
fn typing_moving_and_taking_away() {
    let mut composer = Composer::default();
    composer.insert("héllo wörld\nsecond e\u{301}nd");
    for (to, cursor) in [
        (CursorMove::Left, (1, 9)),
        (CursorMove::WordLeft, (1, 7)),
        (CursorMove::Up, (0, 7)),
        (CursorMove::Home, (0, 0)),
        (CursorMove::WordRight, (0, 5)),
        (CursorMove::Down, (1, 5)),
        (CursorMove::End, (1, 10)),
    ] {
        composer.move_cursor(to);
        assert_eq!(composer.cursor(), cursor, "{to:?}");
    }
    composer.delete_word();
    composer.backspace();
    assert_eq!(composer.text(), "héllo wörld\nsecond");
    composer.delete_to_home();
    composer.backspace();
    composer.move_cursor(CursorMove::Home);
    composer.delete();
    composer.delete_to_end();
    assert_eq!(composer.text(), "");
}

#[test]
fn what_was_said_comes_back_and_pastes_go_out_whole() {
    let mut composer = Composer::default();
    let long = "line\n".repeat(20);
    composer.insert("see ");
    composer.paste(&long);
    composer.paste(&format!("[Pasted 20 lines] {long}"));
    let shown = "see [Pasted 20 lines][Pasted 20 lines, 2]";
    assert_eq!(composer.text(), shown);
    let prompt = composer.submit();
    assert_eq!(prompt.text, format!("see {long}[Pasted 20 lines] {long}"));
    assert_eq!(prompt.shown, shown);
    composer.insert("two");
    assert_eq!(composer.submit(), TypedPrompt::from("two"));
    for again in ["three", "two"] {
        composer.insert(again);
        composer.submit();
    }
    assert_eq!(composer.history().iter().filter(|prompt| *prompt == "two").count(), 1);
    composer.insert("draft");
    composer.move_cursor(CursorMove::Up);
    assert_eq!(composer.text(), "two");
    composer.move_cursor(CursorMove::Down);
    assert_eq!(composer.text(), "draft");
}

#[test]
fn a_prompt_that_comes_back_keeps_its_labels_and_its_pastes() {
    for lines in [20, 5_000] {
        let mut composer = Composer::default();
        let long = "a line\n".repeat(lines);
        composer.insert("see ");
        composer.paste(&long);
        let sent = composer.submit();
        composer.insert("draft ");
        composer.paste(&"other\n".repeat(lines));
        let draft = composer.text().to_owned();
        composer.move_cursor(CursorMove::Up);
        assert_eq!(composer.text(), sent.shown);
        assert_eq!(composer.full_text(), sent.text);
        composer.move_cursor(CursorMove::Down);
        assert_eq!(composer.text(), draft);
        assert!(composer.full_text().contains("other"), "{lines}");
        composer.clear();
        composer.set_text(sent.text.clone());
        assert_eq!(composer.submit(), sent, "taken back from the queue");
    }
}

#[test]
fn a_long_text_that_comes_back_is_a_word_and_goes_out_whole() {
    let mut composer = Composer::default();
    let long = "a line\n".repeat(100_000);
    composer.set_text(long.clone());
    assert_eq!(composer.text(), "[Pasted 100,000 lines]");
    composer.insert(" more");
    assert_eq!(composer.submit().text, format!("{long} more"));
}
