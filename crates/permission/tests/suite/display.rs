//! What people see, with a terminal as the judge.

use proptest::prelude::*;
use proptest::sample::select;
use windlass_permission::sanitize::{escape_invisible, strip_control};

#[test]
fn nothing_hides_in_what_is_shown_for_approval() {
    for (text, shown) in [
        ("ls -la", "ls -la"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\u{1b}[2Kb", "a^[[2Kb"),
        ("a\rb", "a^Mb"),
        ("a\u{202e}b", "a<U+202E>b"),
        ("r\u{200b}m", "r<U+200B>m"),
        ("\u{e0041}x", "<U+E0041>x"),
        ("\u{7f}\u{9b}", "^?<U+009B>"),
        ("é 日本", "é 日本"),
    ] {
        assert_eq!(escape_invisible(text), shown);
    }
}

#[test]
fn what_steers_a_terminal_is_taken_out_and_text_stays() {
    for (text, kept) in [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}]52;c;aGk=", ""),
        ("\u{1b}]0;open\nnext line", "\nnext line"),
        ("\u{1b}(0lqk\u{1b}(B", "lqk"),
        ("\u{1b}c\u{1b}7\u{1b}8x", "x"),
        ("\u{9b}2Jx", "x"),
        ("a\u{8}\u{7}b", "ab"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\u{202e}b\u{200b}c", "abc"),
        ("\u{1b}Pq#0\u{1b}\\x", "x"),
    ] {
        assert_eq!(strip_control(text), kept, "{text:?}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let known = select(vec![
        "\u{1b}", "[", "]", "0;", "31m", "?25l", "2J", "\u{7}", "\u{1b}\\", "P", "_", "^", "X",
        "\u{9b}", "\u{9d}", "\u{9c}", "\u{90}", "a", "word ", "\n", "\r", "\t", "\u{8}", "(0", "c",
        "7", "8", "H", "1;1", "m", "\u{e}", "\u{202e}", "日", "\u{85}", "#8", "=", ">", "52;c;",
        "\u{18}", "\u{1a}",
    ]);
    let any = prop_oneof![3 => known.prop_map(str::to_owned), 1 => "\\PC{0,4}", 1 => "[\\x00-\\x9f]{0,4}"];
    prop::collection::vec(any, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    /// The terminal is as it was, but for the text on it.
    #[test]
    fn cleaned_text_only_prints(text in pieces()) {
        let kept = strip_control(&text);
        prop_assert_eq!(&strip_control(&kept), &kept, "cleaning twice changes nothing");
        let mut terminal = vt100::Parser::new(50, 200, 0);
        let before = terminal.screen().clone();
        terminal.process(kept.replace('\n', "\r\n").as_bytes());
        let after = terminal.screen();
        prop_assert_eq!(after.hide_cursor(), before.hide_cursor());
        prop_assert_eq!(after.alternate_screen(), before.alternate_screen());
        prop_assert_eq!(after.application_cursor(), before.application_cursor());
        prop_assert_eq!(after.application_keypad(), before.application_keypad());
        prop_assert_eq!(after.bracketed_paste(), before.bracketed_paste());
        prop_assert_eq!(after.mouse_protocol_mode(), before.mouse_protocol_mode());
        prop_assert_eq!(after.attributes_formatted(), before.attributes_formatted());
        prop_assert!(!kept.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        // Whatever was printed earlier is still there.
        let mut behind = vt100::Parser::new(50, 200, 0);
        behind.process(b"earlier\r\n");
        behind.process(kept.replace('\n', "\r\n").as_bytes());
        prop_assert!(behind.screen().contents().starts_with("earlier") || kept.matches('\n').count() > 40);
    }

    #[test]
    fn what_is_shown_for_approval_has_no_hidden_letter(text in pieces()) {
        let shown = escape_invisible(&text);
        prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        prop_assert!(shown.chars().count() >= text.chars().count());
    }
}
