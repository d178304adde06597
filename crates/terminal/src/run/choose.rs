//! One question before there is a session: which one, whether to trust, what to do without a key.

use std::io;

use tokio::time::Instant;

use super::canvas::Canvas;
use super::{Looks, SEQUENCE_WAIT, at};
use crate::input::reader::Reader;
use crate::input::{Parser, Typed};
use crate::picker::{Item, Picked, Picker};

/// Lets somebody choose; nothing if they would rather not.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn choose(looks: Looks, words: &str, mut picker: Picker) -> io::Result<Option<Item>> {
    let mut canvas = Canvas::open(looks)?;
    let mut reader = Reader::start()?;
    let mut parser = Parser::default();
    let chosen = loop {
        let (width, rows) = canvas.size();
        let mut lines = crate::text::plain(words, crate::line::Role::Plain, width);
        let room = rows.saturating_sub(8);
        if lines.len() > room {
            lines.truncate(room);
            let more = "… (there is more; make the window larger)";
            lines.push(crate::line::Line::of(more, crate::line::Role::Warning));
        }
        let left = rows.saturating_sub(lines.len() + 2);
        lines.extend(picker.lines(width, left));
        canvas.draw(&lines, "")?;
        let settles = parser.is_waiting().then(|| Instant::now() + SEQUENCE_WAIT);
        let typed = tokio::select! {
            bytes = reader.next() => match bytes {
                Some(bytes) => parser.feed(&bytes),
                None => break None,
            },
            () = at(settles) => parser.settle(),
        };
        let mut picked = Picked::Going;
        for typed in typed {
            if let (Typed::Key(key), Picked::Going) = (typed, &picked) {
                picked = picker.key(&key);
            }
        }
        match picked {
            Picked::Going => {}
            Picked::Nothing => break None,
            Picked::Item(item) => break Some(item),
        }
    };
    reader.end();
    canvas.clear()?;
    Ok(chosen)
}
