//! A streaming answer, block by block: everything is shown once and in order.

use windlass_tui::streaming_answer::StreamingAnswer;
use windlass_tui::styled_line::StyledLine;
use windlass_vocabulary::{ContentBlock, Delta, ThinkingBlock};

fn thought(text: &str) -> ContentBlock {
    ContentBlock::Thinking(ThinkingBlock { text: text.to_owned(), signature: None })
}

/// For any screen size and any chunks: everything is shown once and in order.
#[test]
fn everything_is_shown_once_and_in_order() {
    let first: String = (0..40).map(|number| format!("first {number}\n\n")).collect();
    let second: String = (0..40).map(|number| format!("second {number}\n\n")).collect();
    let blocks =
        [thought("hm"), ContentBlock::Text(first), thought("so"), ContentBlock::Text(second)];
    let mark = |number: usize| if number == 0 { "● " } else { "  " };
    let whole: Vec<String> = std::iter::once("∴ hm  Ctrl-O".to_owned())
        .chain((0..40).map(|number| format!("{}first {number}", mark(number))))
        .chain(["∴ so  Ctrl-O".to_owned()])
        .chain((0..40).map(|number| format!("{}second {number}", mark(number))))
        .collect();
    for (rows, cut, tells_ends) in
        [(5, 10, true), (30, 7, true), (500, 10, true), (5, 10, false), (20, 999_999, true)]
    {
        let mut answer = StreamingAnswer::default();
        let mut shown = Vec::new();
        for block in &blocks {
            if let ContentBlock::Text(text) = block {
                for piece in text.as_bytes().chunks(cut) {
                    let piece = String::from_utf8_lossy(piece).into_owned();
                    answer.push_delta(&Delta::Text(piece), 40);
                    answer.draw(40);
                    shown.extend(answer.take_overflow(rows));
                }
            }
            if tells_ends {
                answer.push_delta(&Delta::Block(block.clone()), 40);
            }
        }
        let most = rows.max(3);
        assert!(answer.lines().count() <= most || rows > 400, "{rows} {cut}");
        for block in &blocks {
            match block {
                ContentBlock::Text(text) => {
                    let Some(mut draft) = answer.finish_text(text) else { continue };
                    while !draft.is_fully_drawn() || draft.lines().next().is_some() {
                        draft.draw(40);
                        shown.extend(draft.take_overflow(0, usize::MAX));
                    }
                }
                ContentBlock::Thinking(thinking) => {
                    shown.extend(answer.finish_thought(&thinking.text, 40));
                }
                ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Media(_)
                | ContentBlock::Provider(_) => {}
            }
        }
        let words: Vec<String> =
            shown.iter().map(StyledLine::plain_text).filter(|words| !words.is_empty()).collect();
        if tells_ends {
            assert_eq!(words, whole, "{rows} {cut}");
        } else {
            // Without the ends of blocks the two texts are one, and pieces may be shown again.
            assert!(words.iter().any(|words| words == "  second 39"), "{words:?}");
        }
    }
}
/// Some wires finish all blocks together when the answer is over.
#[test]
fn blocks_that_are_finished_last_are_shown_once_and_in_order() {
    let text: String = (0..40).map(|number| format!("line {number}\n\n")).collect();
    let mut answer = StreamingAnswer::default();
    answer.push_delta(&Delta::Thinking("hm".to_owned()), 40);
    let mut shown = Vec::new();
    for piece in text.split_inclusive('\n') {
        answer.push_delta(&Delta::Text(piece.to_owned()), 40);
        answer.draw(40);
        shown.extend(answer.take_overflow(5));
    }
    for block in [thought("hm"), ContentBlock::Text(text.clone())] {
        answer.push_delta(&Delta::Block(block), 40);
    }
    answer.draw(40);
    shown.extend(answer.take_overflow(0));
    assert!(answer.finish_thought("hm", 40).is_none());
    assert!(answer.finish_text(&text).is_none_or(|rest| rest.lines().next().is_none()));
    let mut words: Vec<String> = shown.iter().map(StyledLine::plain_text).collect();
    words.retain(|words| !words.is_empty());
    assert_eq!(words.len(), 41, "{words:#?}");
    assert_eq!(words[0], "∴ hm  Ctrl-O");
    assert_eq!(words[40], "  line 39");
}
