//! Ten thousand messages in the history and a fast answer: what a frame shows, writes and keeps is
//! bounded, and in the end everything was shown once.

use std::sync::Arc;

use windlass_tui::TuiSessionFacts;
use windlass_tui::app::App;
use windlass_tui::input::InputKey;
use windlass_tui::painter::Painter;
use windlass_tui::screen_size::ScreenSize;
use windlass_tui::styled_line::StyledLine;
use windlass_tui::theme::Theme;
use windlass_tui::view;
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Message, MessageId, MessageOrigin, Notice, PermissionMode, Role,
};

const LINES_MAX: usize = 150;
const WIDTH: usize = 100;
const ROWS: usize = 30;

struct ScreenFixture {
    app: App,
    painter: Painter,
    shown: Vec<String>,
    most_bytes: usize,
}

impl ScreenFixture {
    fn new() -> Self {
        let size = ScreenSize { width: WIDTH, rows: ROWS };
        let app = App::new(TuiSessionFacts::default(), PermissionMode::Default, size);
        let painter = Painter::new(Theme::Dark, WIDTH);
        Self { app, painter, shown: Vec::new(), most_bytes: 0 }
    }

    /// Paints once, as the event loop does; returns the number of bytes.
    fn paint_frame(&mut self) -> usize {
        self.app.draw_answer();
        let finished = self.app.take_scrollback(LINES_MAX);
        assert!(finished.len() <= LINES_MAX);
        let (live, cursor) = view::render_live(&self.app);
        assert!(live.len() <= ROWS);
        let bytes = self.painter.paint(&finished, &live, cursor).len();
        self.shown.extend(finished.iter().map(StyledLine::plain_text));
        self.most_bytes = self.most_bytes.max(bytes);
        bytes
    }

    fn notify(&mut self, notice: &Notice) {
        self.app.handle_notice(notice);
    }
}

fn answer_part(number: usize) -> String {
    format!("Part {number} of a **long** answer.\n\n")
}

#[test]
fn a_frame_is_bounded_and_everything_is_shown_once() {
    let mut screen = ScreenFixture::new();
    for number in 0..10_000_u64 {
        let words = format!("message {number} with some words");
        let message = Message::user_text(MessageId(number), MessageOrigin::User, words);
        screen.notify(&Notice::MessageAdded(Arc::new(message)));
    }
    let mut frames = 0;
    while !screen.app.is_fully_shown() {
        screen.paint_frame();
        frames += 1;
    }
    assert!(frames > 100, "each frame shows a part: {frames}");
    screen.notify(&Notice::RunStarted);
    let mut text = String::new();
    for number in 0..5_000 {
        let piece = answer_part(number);
        text.push_str(&piece);
        screen.notify(&Notice::Streamed { attempt: AttemptId(1), delta: Delta::Text(piece) });
        if number % 100 == 99 {
            screen.app.handle_key(InputKey::Char('x'));
            screen.paint_frame();
        }
    }
    let mut message = Message::user_text(MessageId(1), MessageOrigin::User, "");
    message.role = Role::Assistant;
    message.content = vec![ContentBlock::Text(text)];
    screen.notify(&Notice::MessageAdded(Arc::new(message)));
    while !screen.app.is_fully_shown() {
        screen.paint_frame();
    }
    let parts: Vec<&str> = screen
        .shown
        .iter()
        .map(|line| line.trim_start_matches(['●', ' ']))
        .filter(|line| line.starts_with("Part "))
        .collect();
    assert_eq!(parts.len(), 5_000);
    assert!(
        parts
            .iter()
            .enumerate()
            .all(|(number, line)| { *line == format!("Part {number} of a long answer.") })
    );
    let prompts = screen.shown.iter().filter(|line| line.starts_with("> message ")).count();
    assert_eq!(prompts, 10_000);
    // The lines of a frame and a screen, each with its colours.
    assert!(screen.most_bytes < (LINES_MAX + ROWS) * (WIDTH + 60), "{}", screen.most_bytes);
    // A key costs one line, whatever the length of the history.
    screen.app.handle_key(InputKey::Char('y'));
    let bytes = screen.paint_frame();
    assert!(bytes < 2 * WIDTH + 100, "{bytes}");
    // The transcript is bounded, too.
    assert!(screen.app.transcript.size_bytes() < 7 * 1024 * 1024);
}
