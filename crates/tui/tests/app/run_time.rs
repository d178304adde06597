//! How long a run took: work counts, and waiting for the user does not.

use std::time::Duration;

use windlass_tui::TuiSessionFacts;
use windlass_tui::app::App;
use windlass_tui::input::InputKey;
use windlass_tui::screen_size::ScreenSize;
use windlass_tui::styled_line::StyledLine;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    Json, MicroUsd, Notice, PermissionMode, PermissionQuestion, Terminal, Ticket, ToolCall, Usage,
};

#[test]
fn time_in_which_the_user_is_asked_is_not_counted() {
    let size = ScreenSize { width: 80, rows: 24 };
    let mut app = App::new(TuiSessionFacts::default(), PermissionMode::Default, size);
    app.now = Duration::from_secs(100);
    app.handle_notice(&Notice::RunStarted);
    app.now += Duration::from_secs(12);
    let input = Json::from_checked(r#"{"command":"rm x"}"#);
    let call = ToolCall { id: "c".into(), name: "Bash".into(), input, signature: None };
    let question =
        PermissionQuestion { call, why: String::new(), suggestions: Vec::new(), agent: None };
    app.handle_notice(&Notice::PermissionAsked { ticket: Ticket(1), question });
    app.now += Duration::from_secs(300);
    assert_eq!(app.run.elapsed(app.now), Duration::from_secs(12), "the clock stands still");
    assert!(!app.handle_key(InputKey::Char('2')).is_empty());
    app.now += Duration::from_secs(3);
    app.handle_notice(&Notice::RunEnded(RunEnding {
        terminal: Terminal::Completed,
        outcome: None,
        why: String::new(),
        failure: None,
        turns: 1,
        usage: Usage::default(),
        cost: MicroUsd(0),
        deferred: None,
    }));
    let shown: Vec<String> = app.take_scrollback(50).iter().map(StyledLine::plain_text).collect();
    assert!(shown.iter().any(|line| line == "  · Done in 15 s"), "{shown:?}");
}
