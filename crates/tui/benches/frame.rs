//! The cost of a key while an answer streams at fifty thousand pieces a second, with ten thousand
//! messages in the history; and the bytes of a frame. Prints the numbers, and fails over its limits.
#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a bench prints what it measured, or why not"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_tui::TuiSessionFacts;
use windlass_tui::app::App;
use windlass_tui::input::{InputKey, InputParser, TerminalInput};
use windlass_tui::painter::Painter;
use windlass_tui::screen_size::ScreenSize;
use windlass_tui::theme::Theme;
use windlass_tui::view;
use windlass_vocabulary::{
    AttemptId, Delta, Message, MessageId, MessageOrigin, Notice, PermissionMode,
};

const KEYS: usize = 2_000;
/// What arrives between two frames at that rate.
const PIECES: usize = 50_000 / 80;
const ECHO_MAX: Duration = Duration::from_millis(16);
/// Every frame shows a screen of new lines; it may cost two.
const BYTES_MAX: usize = 20_000;

fn main() {
    let facts = TuiSessionFacts {
        model: "bench".to_owned(),
        context_window: 200_000,
        ..TuiSessionFacts::default()
    };
    let mut app = App::new(facts, PermissionMode::Default, ScreenSize { width: 120, rows: 40 });
    let mut painter = Painter::new(Theme::Dark, 120);
    for number in 0..10_000_u64 {
        let message = Message::user_text(
            MessageId(number),
            MessageOrigin::User,
            format!("message {number} with some words"),
        );
        app.handle_notice(&Notice::MessageAdded(Arc::new(message)));
        if number % 500 == 0 {
            paint_frame(&mut app, &mut painter);
        }
    }
    app.handle_notice(&Notice::RunStarted);
    let mut parser = InputParser::default();
    let mut durations = Vec::with_capacity(KEYS);
    let mut bytes = Vec::with_capacity(KEYS);
    for number in 0..KEYS {
        let started = Instant::now();
        // The worst case: all pieces of a frame come before the key is painted.
        for piece in 0..PIECES {
            let text = if piece % 40 == 0 { "words.\n\n" } else { "words " };
            let delta = Delta::Text(text.to_owned());
            app.handle_notice(&Notice::Streamed { attempt: AttemptId(1), delta });
        }
        app.now = Duration::from_millis(12 * number as u64);
        for input in parser.feed(if number % 60 == 59 { b"\x15" } else { b"x" }) {
            if let TerminalInput::Key(key) = input {
                app.handle_key(key);
            }
        }
        bytes.push(paint_frame(&mut app, &mut painter));
        durations.push(started.elapsed());
    }
    app.handle_key(InputKey::Escape);
    durations.sort();
    bytes.sort_unstable();
    let at = |percent: usize| durations.get(KEYS * percent / 100).copied().unwrap_or_default();
    let median = at(50);
    let most = at(99);
    let most_bytes = bytes.get(KEYS * 99 / 100).copied().unwrap_or_default();
    println!("key to frame: median {median:?}, 99th {most:?} (limit {ECHO_MAX:?})");
    println!("bytes of a frame, 99th: {most_bytes}");
    assert!(most < ECHO_MAX, "a key took {most:?}");
    let key_bytes = measure_idle_key(&mut app, &mut painter);
    println!("bytes of a key when nothing else happens: {key_bytes}");
    assert!(key_bytes < 200 && most_bytes < BYTES_MAX, "{key_bytes}, {most_bytes}");
}

/// Returns the number of bytes.
fn paint_frame(app: &mut App, painter: &mut Painter) -> usize {
    app.draw_answer();
    let finished = app.take_scrollback(150);
    let (live, cursor) = view::render_live(app);
    painter.paint(&finished, &live, cursor).len()
}

fn measure_idle_key(app: &mut App, painter: &mut Painter) -> usize {
    paint_frame(app, painter);
    app.handle_key(InputKey::Char('x'));
    paint_frame(app, painter)
}
