//! What a key costs while an answer pours in at fifty thousand pieces a second, with ten thousand
//! messages behind it; and how many bytes a frame is. Says the numbers, and fails over its limits.
#![allow(clippy::print_stdout, clippy::panic, reason = "a bench says what it measured, or why not")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_terminal::app::App;
use windlass_terminal::input::{InputKey, InputParser, TerminalInput};
use windlass_terminal::painter::Painter;
use windlass_terminal::theme::Theme;
use windlass_terminal::view;
use windlass_terminal::{ScreenSize, TuiSessionFacts};
use windlass_vocabulary::{
    AttemptId, Delta, Message, MessageId, MessageOrigin, Notice, PermissionMode,
};

/// Keys pressed, and pieces that arrive between two frames at that rate.
const KEYS: usize = 2_000;
const PIECES: usize = 50_000 / 80;
const ECHO_MAX: Duration = Duration::from_millis(16);
/// In a storm every frame is a screen of new lines; it may cost two.
const BYTES_MAX: usize = 20_000;

fn main() {
    let about = TuiSessionFacts {
        model: "bench".to_owned(),
        context_window: 200_000,
        ..TuiSessionFacts::default()
    };
    let mut app = App::new(about, PermissionMode::Default, ScreenSize { width: 120, rows: 40 });
    let mut painter = Painter::new(Theme::Dark, 120);
    for number in 0..10_000_u64 {
        let message = Message::user_text(
            MessageId(number),
            MessageOrigin::User,
            format!("message {number} with some words"),
        );
        app.handle_notice(&Notice::MessageAdded(Arc::new(message)));
        if number % 500 == 0 {
            frame(&mut app, &mut painter);
        }
    }
    app.handle_notice(&Notice::RunStarted);
    let mut parser = InputParser::default();
    let (mut spans, mut bytes) = (Vec::with_capacity(KEYS), Vec::with_capacity(KEYS));
    for number in 0..KEYS {
        let began = Instant::now();
        // The worst that can come before a key is drawn: all pieces of a frame.
        for piece in 0..PIECES {
            let text = if piece % 40 == 0 { "words.\n\n" } else { "words " };
            let delta = Delta::Text(text.to_owned());
            app.handle_notice(&Notice::Streamed { attempt: AttemptId(1), delta });
        }
        app.now = Duration::from_millis(12 * number as u64);
        for typed in parser.feed(if number % 60 == 59 { b"\x15" } else { b"x" }) {
            if let TerminalInput::Key(key) = typed {
                app.handle_key(key);
            }
        }
        bytes.push(frame(&mut app, &mut painter));
        spans.push(began.elapsed());
    }
    app.handle_key(InputKey::Escape);
    spans.sort();
    bytes.sort_unstable();
    let at = |percent: usize| spans.get(KEYS * percent / 100).copied().unwrap_or_default();
    let (half, most) = (at(50), at(99));
    let most_bytes = bytes.get(KEYS * 99 / 100).copied().unwrap_or_default();
    println!("key to frame: median {half:?}, 99th {most:?} (limit {ECHO_MAX:?})");
    println!("bytes of a frame, 99th: {most_bytes}");
    assert!(most < ECHO_MAX, "a key took {most:?}");
    let one = idle_key(&mut app, &mut painter);
    println!("bytes of a key when nothing else happens: {one}");
    assert!(one < 200 && most_bytes < BYTES_MAX, "{one}, {most_bytes}");
}

/// Draws, and says how many bytes that took.
fn frame(app: &mut App, painter: &mut Painter) -> usize {
    app.draw_answer();
    let finished = app.take_scrollback(150);
    let (live, cursor) = view::render_live(app);
    painter.paint(&finished, &live, cursor).len()
}

fn idle_key(app: &mut App, painter: &mut Painter) -> usize {
    frame(app, painter);
    app.handle_key(InputKey::Char('x'));
    frame(app, painter)
}
