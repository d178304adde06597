//! Finished blocks of an answer that wait for an earlier call. Calls run concurrently and end in
//! any order, but are shown in the order in which the model made them.

use std::collections::VecDeque;

use windlass_vocabulary::{ToolCall, ToolCallId};

use crate::markdown_stream::MarkdownStream;
use crate::styled_line::StyledLine;
use crate::transcript::TranscriptEntry;

#[derive(Debug, Default)]
pub struct WaitingBlocks {
    blocks: VecDeque<WaitingBlock>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few blocks wait at a time, and most are finished")]
enum WaitingBlock {
    /// It has not ended: what follows waits for it.
    OpenCall(ToolCall),
    Finished(FinishedBlock),
}

/// A block as it goes into the scrollback and the transcript.
#[derive(Debug)]
pub(super) enum FinishedBlock {
    /// The part of a text that is not in the scrollback yet.
    Text(Option<MarkdownStream>, TranscriptEntry),
    Thought(Option<StyledLine>, TranscriptEntry),
    Media(StyledLine),
    Call(EndedCall),
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct EndedCall {
    pub(super) id: ToolCallId,
    pub(super) lines: Vec<StyledLine>,
    pub(super) entry: TranscriptEntry,
}

/// A call of the last answer, as the live lines show it.
#[derive(Debug)]
pub enum WaitingCall<'a> {
    Open(&'a ToolCallId),
    /// The title of an ended block that waits for another.
    Ended(&'a StyledLine),
}

impl WaitingBlocks {
    /// Keeps a block if there is a call to wait for, and returns it otherwise.
    pub(super) fn keep(&mut self, block: FinishedBlock) -> Option<FinishedBlock> {
        if self.blocks.is_empty() {
            return Some(block);
        }
        self.blocks.push_back(WaitingBlock::Finished(block));
        None
    }

    /// What is kept from now on waits for this call.
    pub(super) fn wait_for(&mut self, call: ToolCall) {
        self.blocks.push_back(WaitingBlock::OpenCall(call));
    }

    /// Adds a call at its position, and returns it if it has none.
    pub(super) fn end_call(&mut self, ended: EndedCall) -> Option<EndedCall> {
        let Some(place) = self.find_open(&ended.id) else { return Some(ended) };
        *place = WaitingBlock::Finished(FinishedBlock::Call(ended));
        None
    }

    /// A call that is waited for.
    pub(super) fn open_call(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.blocks.iter().find_map(|block| match block {
            WaitingBlock::OpenCall(call) => Some(call).filter(|call| call.id == *id),
            WaitingBlock::Finished(_) => None,
        })
    }

    /// Waits no longer for a call that is not shown.
    pub(super) fn forget_call(&mut self, id: &ToolCallId) {
        self.blocks
            .retain(|block| !matches!(block, WaitingBlock::OpenCall(open) if open.id == *id));
    }

    /// Takes what waits for nothing any more.
    pub(super) fn take_ready(&mut self) -> Vec<FinishedBlock> {
        let is_finished = |block: &mut WaitingBlock| matches!(block, WaitingBlock::Finished(_));
        let ready = std::iter::from_fn(|| self.blocks.pop_front_if(is_finished));
        ready.filter_map(WaitingBlock::into_finished).collect()
    }

    /// Takes everything, because no call is under way any more.
    pub(super) fn take_all(&mut self) -> Vec<FinishedBlock> {
        self.blocks.drain(..).filter_map(WaitingBlock::into_finished).collect()
    }

    /// The last of these calls that has ended and waits.
    pub(super) fn find_ended(&mut self, calls: &[ToolCallId]) -> Option<&mut EndedCall> {
        self.blocks.iter_mut().rev().find_map(|block| match block {
            WaitingBlock::Finished(FinishedBlock::Call(ended)) if calls.contains(&ended.id) => {
                Some(ended)
            }
            WaitingBlock::OpenCall(_) | WaitingBlock::Finished(_) => None,
        })
    }

    fn find_open(&mut self, id: &ToolCallId) -> Option<&mut WaitingBlock> {
        let is_it = |block: &&mut WaitingBlock| matches!(block, WaitingBlock::OpenCall(open) if open.id == *id);
        self.blocks.iter_mut().find(is_it)
    }

    pub fn draw(&mut self, width: usize) {
        for block in &mut self.blocks {
            if let WaitingBlock::Finished(FinishedBlock::Text(Some(rest), _)) = block {
                rest.draw(width);
            }
        }
    }

    pub fn is_fully_drawn(&self) -> bool {
        self.texts().all(MarkdownStream::is_fully_drawn)
    }

    /// The lines of texts that wait.
    pub fn text_lines(&self) -> impl DoubleEndedIterator<Item = &StyledLine> {
        self.texts().flat_map(MarkdownStream::lines)
    }

    /// The calls of the answer, from the first that has not ended.
    pub fn calls(&self) -> impl Iterator<Item = WaitingCall<'_>> {
        self.blocks.iter().filter_map(|block| match block {
            WaitingBlock::OpenCall(call) => Some(WaitingCall::Open(&call.id)),
            WaitingBlock::Finished(FinishedBlock::Call(ended)) => {
                ended.lines.first().map(WaitingCall::Ended)
            }
            WaitingBlock::Finished(_) => None,
        })
    }

    /// What will be in the transcript.
    pub fn entries(&self) -> impl Iterator<Item = &TranscriptEntry> {
        self.blocks.iter().filter_map(|block| match block {
            WaitingBlock::Finished(
                FinishedBlock::Text(_, entry)
                | FinishedBlock::Thought(_, entry)
                | FinishedBlock::Call(EndedCall { entry, .. }),
            ) => Some(entry),
            WaitingBlock::Finished(FinishedBlock::Media(_)) | WaitingBlock::OpenCall(_) => None,
        })
    }

    fn texts(&self) -> impl DoubleEndedIterator<Item = &MarkdownStream> {
        self.blocks.iter().filter_map(|block| match block {
            WaitingBlock::Finished(FinishedBlock::Text(rest, _)) => rest.as_ref(),
            WaitingBlock::Finished(_) | WaitingBlock::OpenCall(_) => None,
        })
    }
}

impl WaitingBlock {
    fn into_finished(self) -> Option<FinishedBlock> {
        match self {
            Self::OpenCall(_) => None,
            Self::Finished(block) => Some(block),
        }
    }
}
