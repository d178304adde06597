//! Bytes of a terminal become keys, however they are cut.

use windlass_tui::input::{CursorMove, Deletion, InputKey, InputParser, TerminalInput};

fn parse_all(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut parser = InputParser::default();
    let mut typed = parser.feed(bytes);
    typed.extend(parser.flush_pending());
    typed
}

fn key(key: InputKey) -> TerminalInput {
    TerminalInput::Key(key)
}

#[test]
fn what_a_terminal_sends_means_what_it_means() {
    let cases: &[(&[u8], &[TerminalInput])] = &[
        (b"a\xc3\xa9\xe6\x97\xa5", &['a', 'é', '日'].map(|one| key(InputKey::Char(one)))),
        (b"\r", &[key(InputKey::Enter)]),
        (b"\n", &[key(InputKey::NewLine)]),
        (b"\x1b\r", &[key(InputKey::NewLine)]),
        (b"\x1b[13;2u", &[key(InputKey::NewLine)]),
        (b"\x1b[27;2;13~", &[key(InputKey::NewLine)]),
        (b"\x1b", &[key(InputKey::Escape)]),
        (b"\x1b\x1b", &[key(InputKey::Escape), key(InputKey::Escape)]),
        (b"\x1b\x1b[A", &[key(InputKey::Escape), key(InputKey::Move(CursorMove::Up))]),
        (
            b"\x1bOA\x1b[1;5D",
            &[key(InputKey::Move(CursorMove::Up)), key(InputKey::Move(CursorMove::WordLeft))],
        ),
        (
            b"\x1b[3~\x1b[5~\x1b[Z",
            &[
                key(InputKey::Delete(Deletion::CharUnder)),
                key(InputKey::PageUp),
                key(InputKey::BackTab),
            ],
        ),
        (
            b"\x1bb\x1b\x7f",
            &[
                key(InputKey::Move(CursorMove::WordLeft)),
                key(InputKey::Delete(Deletion::WordBefore)),
            ],
        ),
        (b"\x1b[99;5u", &[key(InputKey::Cancel)]),
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", &[TerminalInput::Background { is_light: true }]),
        (
            b"\x1b]11;rgb:1e/1e/2e\x07x",
            &[TerminalInput::Background { is_light: false }, key(InputKey::Char('x'))],
        ),
        // Unsolicited answers and reports produce no letters.
        (b"\x1b[?62;22c\x1b[I\x1b[<0;1;1M\x1b[[A", &[key(InputKey::Move(CursorMove::Up))]),
        (b"\xff\xc3(\x1b[1;", &[key(InputKey::Char('('))]),
        (
            b"\x1b[200~a\x1b[A\r\x1b[201~b",
            &[key(InputKey::Paste("a\u{1b}[A\r".to_owned())), key(InputKey::Char('b'))],
        ),
    ];
    for (bytes, meant) in cases {
        assert_eq!(parse_all(bytes), *meant, "{:?}", String::from_utf8_lossy(bytes));
        // The same, however it is cut.
        for at in 0..bytes.len() {
            let (one, other) = bytes.split_at(at);
            let mut parser = InputParser::default();
            let mut typed = parser.feed(one);
            typed.extend(parser.feed(other));
            typed.extend(parser.flush_pending());
            assert_eq!(typed, *meant, "{at}: {:?}", String::from_utf8_lossy(bytes));
        }
    }
}

#[test]
fn ten_megabytes_are_pasted_in_one_piece() {
    let mut parser = InputParser::default();
    assert!(parser.feed(b"\x1b[200~").is_empty());
    let chunk = [b'x'; 4096];
    for _ in 0..2_560 {
        assert!(parser.feed(&chunk).is_empty());
    }
    let typed = parser.feed(b"\x1b[201~");
    assert!(
        matches!(&typed[..], [TerminalInput::Key(InputKey::Paste(text))] if text.len() == 2_560 * 4096),
        "{} keys",
        typed.len()
    );
}
