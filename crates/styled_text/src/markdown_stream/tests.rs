//! A text that grows looks like the whole one, and each part of it is drawn once.

use super::*;

fn visible_texts<'a>(lines: impl Iterator<Item = &'a StyledLine>) -> Vec<String> {
    lines.map(StyledLine::plain_text).filter(|words| !words.trim().is_empty()).collect()
}

#[test]
fn a_growing_answer_looks_like_the_whole_one() {
    let texts = [
        "# Title\n\nSome *words* here.\n\n```rust\nfn a() {}\n\nfn b() {}\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end",
        "Steps:\n1. one\n\n   more of one\n\n2. two\n   ```sh\n   ls\n\n   cd\n   ```\n3. three\n\nand on\n```\ncode\n```\nwords",
        "> quoted\n> more\n\n~~~text\n```\n~~~\n* a\n\n  b\n\n\n- c\n+ d\n\nend\n\n    indented\n",
    ];
    for text in texts {
        let mut draft = MarkdownStream::default();
        for at in 0..text.len() {
            draft.push(text.get(at..=at).unwrap_or_default());
            draft.draw(40);
            let whole = render_answer(text.get(..=at).unwrap_or_default(), 40);
            assert_eq!(
                visible_texts(draft.lines()),
                visible_texts(whole.iter()),
                "{:?}",
                text.get(..=at)
            );
        }
        draft.finish();
        draft.draw(40);
        assert_eq!(
            visible_texts(draft.lines()),
            visible_texts(render_answer(text, 40).iter()),
            "{text}"
        );
        assert!(draft.rest.is_empty(), "{text}");
    }
}

/// Whatever an answer is made of, a frame costs so much and no more, and so does its end.
#[test]
fn a_frame_costs_what_is_new() {
    let kinds = ["words.\n\n", "words ", "- item\n", "- item\n\n", "| a | b |\n", "> quote\n", "x"];
    for (number, kind) in kinds.iter().enumerate() {
        for fence in ["", "```rust\n", "- item\n  ```\n  ", "| a | b |\n|---|---|\n"] {
            let mut draft = MarkdownStream::default();
            draft.push(fence);
            let mut pushed = fence.len();
            let mut before = 0;
            while pushed < 50_000 {
                // What comes between two frames at fifty thousand pieces a second.
                let new = kind.repeat(600);
                draft.push(&new);
                pushed += new.len();
                draft.draw(80);
                let _ = draft.take_overflow(50, usize::MAX).count();
                let cost = draft.drawn_bytes() - before;
                assert!(cost < 2 * new.len() + 3 * CHUNK_BYTES_MAX, "{number} {fence}: {cost}");
                before = draft.drawn_bytes();
            }
            draft.finish();
            draft.draw(80);
            assert!(draft.is_fully_drawn(), "{number} {fence}");
            let cost = draft.drawn_bytes() - before;
            assert!(cost < 2 * CHUNK_BYTES_MAX, "the end of {number} {fence}: {cost}");
        }
    }
}

#[test]
fn what_comes_at_once_is_drawn_frame_by_frame() {
    let mut draft = MarkdownStream::default();
    for number in 0..20_000 {
        draft.push(&format!("paragraph {number}\n\n"));
    }
    draft.finish();
    let mut lines = Vec::new();
    let mut frames = 0;
    while !draft.is_fully_drawn() || draft.lines().next().is_some() {
        let before = draft.drawn_bytes();
        draft.draw(80);
        assert!(draft.drawn_bytes() - before <= FRAME_BYTES_MAX + CHUNK_BYTES_MAX);
        lines.extend(draft.take_overflow(0, 100));
        frames += 1;
    }
    assert!(frames >= lines.len() / 100, "{frames}");
    assert_eq!(visible_texts(lines.iter()).len(), 20_000);
    assert_eq!(lines.last().map(StyledLine::plain_text).as_deref(), Some("  paragraph 19999"));
}

/// A block that never ends is cut where it does not hurt: its words stay in order, a table a table,
/// a list a list.
#[test]
fn a_block_without_an_end_is_cut_and_nothing_is_lost() {
    for (head, one) in [
        ("", "word "),
        ("```\n", "a line of it\n"),
        ("| a | b |\n|---|---|\n", "| one | two |\n"),
        ("- a\n", "- item\n\n"),
    ] {
        let mut draft = MarkdownStream::default();
        draft.push(head);
        for number in 0..5_000 {
            draft.push(one);
            if number % 97 == 0 {
                draft.draw(80);
            }
        }
        draft.finish();
        draft.draw(80);
        while !draft.is_fully_drawn() {
            draft.draw(80);
        }
        let words = visible_texts(draft.lines()).join("\n");
        let named = one.trim_matches(|one: char| !one.is_alphabetic());
        let first = named.split([' ', '|']).next().unwrap_or_default();
        assert_eq!(words.matches(first).count(), 5_000, "{head}");
        assert_eq!(words.contains(" │ "), head.starts_with('|'), "{head}");
        assert_eq!(words.contains('•'), head.starts_with('-'), "{head}");
    }
}
