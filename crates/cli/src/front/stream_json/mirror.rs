//! What is written into transcripts, for the desk: what each message is called there, and the lines
//! themselves for clients that keep a copy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windlass_driver::{Appended, Heard};
use windlass_vocabulary::MessageId;

use super::frame::Frame;

/// What was heard and not yet used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mirror {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The ids of a message's lines, by agent and message.
    names: HashMap<(String, MessageId), Vec<String>>,
    /// Lines for a copy, by file.
    lines: Vec<(String, Value)>,
}

impl Mirror {
    /// Hears of every line. Keeps the lines themselves only if a copy is wanted.
    pub(crate) fn ear(&self, keeps_lines: bool) -> Heard {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |written: &Appended<'_>| {
            let mut state = lock(&shared);
            if let Some(message) = written.message {
                let agent = written.agent.unwrap_or_default().to_owned();
                if state.names.len() < NAMES_MAX {
                    state.names.insert((agent, message), written.uuids.to_vec());
                }
            }
            if let Some(path) = written.path.filter(|_| keeps_lines) {
                let path = path.to_string_lossy();
                let lines = written.lines.iter().filter_map(|line| serde_json::from_str(line).ok());
                state.lines.extend(lines.map(|line| (path.clone().into_owned(), line)));
            }
        })
    }

    /// What the blocks of a message are called.
    pub(crate) fn names(&self, agent: &str, message: MessageId) -> Vec<String> {
        lock(&self.shared).names.remove(&(agent.to_owned(), message)).unwrap_or_default()
    }

    /// The lines since the last time, in frames that are not too long.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        let lines = std::mem::take(&mut lock(&self.shared).lines);
        let mut frames: Vec<Frame> = Vec::new();
        let mut room = 0;
        for (path, line) in lines {
            let length = line.to_string().len();
            match frames.last_mut() {
                Some(Frame::TranscriptMirror { file_path, entries })
                    if *file_path == path && length <= room =>
                {
                    entries.push(line);
                }
                _ => {
                    room = FRAME_BYTES_MAX;
                    let entries = vec![line];
                    frames.push(Frame::TranscriptMirror { file_path: path, entries });
                }
            }
            room = room.saturating_sub(length);
        }
        frames
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of lines that go into one frame; one that is longer goes alone.
const FRAME_BYTES_MAX: usize = 500_000;
/// Messages whose names may wait to be told.
const NAMES_MAX: usize = 4_096;
