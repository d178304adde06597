//! What is written into transcripts: the ids of messages there, and the lines themselves for clients
//! that keep a copy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windlass_driver::{AppendedTranscriptLines, TranscriptListener};
use windlass_vocabulary::MessageId;

use crate::frame::OutgoingFrame;

#[derive(Clone, Debug, Default)]
pub(crate) struct TranscriptMirror {
    shared: Arc<Mutex<TranscriptMirrorState>>,
}

#[derive(Debug, Default)]
struct TranscriptMirrorState {
    /// The ids of a message's lines, by agent and message.
    line_ids: HashMap<(String, MessageId), Vec<String>>,
    /// Lines for a copy, by file.
    lines: Vec<(String, Value)>,
}

impl TranscriptMirror {
    /// Receives every line. Keeps the lines themselves only if a copy is wanted.
    pub(crate) fn build_listener(&self, keeps_lines: bool) -> TranscriptListener {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |written: &AppendedTranscriptLines<'_>| {
            let mut state = lock_state(&shared);
            if let Some(message) = written.message {
                let agent = written.agent.unwrap_or_default().to_owned();
                if state.line_ids.len() < LINE_IDS_MAX {
                    state.line_ids.insert((agent, message), written.uuids.to_vec());
                }
            }
            if let Some(path) = written.path.filter(|_| keeps_lines) {
                let path = path.to_string_lossy();
                let lines = written.lines.iter().filter_map(|line| serde_json::from_str(line).ok());
                state.lines.extend(lines.map(|line| (path.clone().into_owned(), line)));
            }
        })
    }

    /// The ids of a message's blocks.
    pub(crate) fn take_line_ids(&self, agent: &str, message: MessageId) -> Vec<String> {
        lock_state(&self.shared).line_ids.remove(&(agent.to_owned(), message)).unwrap_or_default()
    }

    /// The lines since the last time, in frames that are not too long.
    pub(crate) fn take_frames(&self) -> Vec<OutgoingFrame> {
        let lines = std::mem::take(&mut lock_state(&self.shared).lines);
        let mut frames: Vec<OutgoingFrame> = Vec::new();
        let mut room = 0;
        for (path, line) in lines {
            let length = line.to_string().len();
            match frames.last_mut() {
                Some(OutgoingFrame::TranscriptMirror { file_path, entries })
                    if *file_path == path && length <= room =>
                {
                    entries.push(line);
                }
                Some(_) | None => {
                    room = FRAME_BYTES_MAX;
                    let entries = vec![line];
                    frames.push(OutgoingFrame::TranscriptMirror { file_path: path, entries });
                }
            }
            room = room.saturating_sub(length);
        }
        frames
    }
}

fn lock_state(state: &Mutex<TranscriptMirrorState>) -> MutexGuard<'_, TranscriptMirrorState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of lines that go into one frame; one that is longer goes alone.
const FRAME_BYTES_MAX: usize = 500_000;
/// Messages whose ids may wait for their frames.
const LINE_IDS_MAX: usize = 4_096;
