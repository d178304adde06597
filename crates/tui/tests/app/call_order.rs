//! Text and calls of an answer stand on the screen as the model made them, however the calls end.

use std::sync::Arc;

use windlass_tui::TuiSessionFacts;
use windlass_tui::app::App;
use windlass_tui::screen_size::ScreenSize;
use windlass_tui::styled_line::StyledLine;
use windlass_tui::view::render_live;
use windlass_vocabulary::{
    AttemptId, Concurrency, ContentBlock, Delta, EffectClass, Json, Message, MessageId,
    MessageOrigin, Notice, PermissionMode, Role, Tokens, ToolCall, ToolInspection, ToolOutcome,
};

fn call(id: &str) -> ToolCall {
    let input = Json::from_checked(&format!(r#"{{"command":"echo {id}"}}"#));
    ToolCall { id: id.into(), name: "Bash".into(), input, signature: None }
}

fn start(app: &mut App, blocks: Vec<ContentBlock>) {
    app.handle_notice(&Notice::RunStarted);
    let mut message = Message::user_text(MessageId(1), MessageOrigin::Model, "");
    message.role = Role::Assistant;
    for block in &blocks {
        if let ContentBlock::ToolUse(call) = block {
            app.handle_notice(&Notice::ToolStarted(call.clone()));
        }
    }
    message.content = blocks;
    app.handle_notice(&Notice::MessageAdded(Arc::new(message)));
}

fn end(app: &mut App, id: &str) {
    let outcome = ToolOutcome::from_text("done");
    app.handle_notice(&Notice::ToolEnded { call: id.into(), outcome });
}

fn take_scrollback(app: &mut App) -> Vec<String> {
    let lines = app.take_scrollback(100);
    lines.iter().map(StyledLine::plain_text).filter(|line| !line.is_empty()).collect()
}

fn new_app() -> App {
    let size = ScreenSize { width: 80, rows: 24 };
    App::new(TuiSessionFacts::default(), PermissionMode::Default, size)
}

fn two_calls() -> Vec<ContentBlock> {
    vec![
        ContentBlock::Text("Before.".to_owned()),
        ContentBlock::ToolUse(call("one")),
        ContentBlock::Text("Between.".to_owned()),
        ContentBlock::ToolUse(call("two")),
    ]
}

#[test]
fn calls_that_end_in_another_order_stand_as_the_model_made_them() {
    let mut app = new_app();
    start(&mut app, two_calls());
    assert_eq!(take_scrollback(&mut app), ["● Before."]);
    end(&mut app, "two");
    assert_eq!(take_scrollback(&mut app), [""; 0], "it waits for the first");
    app.draw_answer();
    let live: Vec<String> = render_live(&app).0.iter().map(StyledLine::plain_text).collect();
    let at = |words: &str| live.iter().position(|line| line.contains(words));
    assert!(at("● Between.") < at("Bash(echo one)"), "{live:?}");
    assert!(at("Bash(echo one)") < at("● Bash(echo two)"), "{live:?}");
    assert!(at("● Between.").is_some() && app.answer.waiting.entries().count() == 2);
    end(&mut app, "one");
    let shown = take_scrollback(&mut app);
    let heads: Vec<&str> =
        shown.iter().filter(|line| line.starts_with('●')).map(String::as_str).collect();
    assert_eq!(heads, ["● Bash(echo one)", "● Between.", "● Bash(echo two)"], "{shown:?}");
    let page = app.transcript.render(80, "");
    let page: Vec<String> = page.iter().map(StyledLine::plain_text).collect();
    let at = |words: &str| page.iter().position(|line| line.contains(words));
    let order = [at("Before."), at("echo one"), at("Between."), at("echo two")];
    assert!(order.is_sorted() && order[0].is_some(), "{page:?}");
}

#[test]
fn a_call_that_never_reports_its_end_holds_nothing_for_ever() {
    let mut app = new_app();
    start(&mut app, two_calls());
    end(&mut app, "two");
    take_scrollback(&mut app);
    app.handle_notice(&start_request(2));
    let shown = take_scrollback(&mut app);
    assert!(shown.iter().any(|line| line == "● Bash(echo two)"), "{shown:?}");
}

/// Two calls that run together end at any two moments of a long answer on a small screen.
#[test]
fn however_calls_end_each_block_is_shown_once_and_in_its_place() {
    let text =
        |name: &str| -> String { (0..12).map(|line| format!("{name} {line}.\n\n")).collect() };
    let blocks = [
        ContentBlock::Text(text("Before")),
        ContentBlock::ToolUse(call("one")),
        ContentBlock::Text(text("Between")),
        ContentBlock::ToolUse(call("two")),
        ContentBlock::Text(text("After")),
    ];
    let told = tell_answer(&blocks);
    let first_end = |id: &str| {
        let starts =
            |notice: &Notice| matches!(notice, Notice::ToolStarted(call) if call.id == id.into());
        told.iter().position(starts).expect("it starts") + 1
    };
    for one in first_end("one")..=told.len() {
        for two in first_end("two")..=told.len() {
            for is_swapped in [false, true] {
                let mut app = App::new(
                    TuiSessionFacts::default(),
                    PermissionMode::Default,
                    ScreenSize { width: 80, rows: 5 },
                );
                let mut shown = Vec::new();
                app.handle_notice(&Notice::RunStarted);
                let ids = if is_swapped {
                    [("two", two), ("one", one)]
                } else {
                    [("one", one), ("two", two)]
                };
                for at in 0..=told.len() {
                    for (id, _) in ids.iter().filter(|(_, when)| *when == at) {
                        end(&mut app, id);
                    }
                    if let Some(notice) = told.get(at) {
                        app.handle_notice(notice);
                    }
                    app.draw_answer();
                    shown.extend(take_scrollback(&mut app));
                }
                app.handle_notice(&start_request(2));
                shown.extend(take_scrollback(&mut app));
                let all =
                    |name: &str| (0..12).map(|line| format!("{name} {line}.")).collect::<Vec<_>>();
                let mut expected = all("Before");
                expected.push("Bash(echo one)".to_owned());
                expected.extend(all("Between"));
                expected.push("Bash(echo two)".to_owned());
                expected.extend(all("After"));
                let lines = shown.iter().map(|line| line.trim_start_matches(['●', ' ']).to_owned());
                let lines: Vec<String> = lines.filter(|line| line != "done").collect();
                assert_eq!(lines, expected, "one ends at {one}, two at {two}");
            }
        }
    }
}

/// What a session tells while it receives this answer.
fn tell_answer(blocks: &[ContentBlock]) -> Vec<Notice> {
    let streamed = |delta| Notice::Streamed { attempt: AttemptId(1), delta };
    let mut notices = vec![start_request(1)];
    for block in blocks {
        if let ContentBlock::Text(text) = block {
            let pieces = text.split_inclusive("6.").map(|piece| Delta::Text(piece.to_owned()));
            notices.extend(pieces.map(streamed));
            notices.push(streamed(Delta::Block(block.clone())));
        } else if let ContentBlock::ToolUse(call) = block {
            notices.push(Notice::ToolStarted(call.clone()));
            let inspection = ToolInspection {
                problem: None,
                concurrency: Concurrency::Shared,
                class: EffectClass::Pure,
                spends: false,
                seen: Vec::new(),
                doubt: None,
                limits_itself: false,
            };
            notices.push(streamed(Delta::Call { call: call.clone(), inspection }));
        }
    }
    let mut message = Message::user_text(MessageId(1), MessageOrigin::Model, "");
    message.role = Role::Assistant;
    message.content = blocks.to_vec();
    notices.push(Notice::MessageAdded(Arc::new(message)));
    notices
}

fn start_request(turn: u32) -> Notice {
    Notice::RequestStarted {
        attempt: AttemptId(turn.into()),
        model: "opus".into(),
        turn,
        input_estimate: Tokens(1),
    }
}
