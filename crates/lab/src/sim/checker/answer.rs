//! What an answer said in whole blocks is in the transcript, unless it was taken back: nothing that
//! was shown to the end is lost in silence.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{Block, Delta, Message, Notice, Role, Stop};

use super::View;

#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whole blocks of the answer under way, calls under the names the provider gave them.
    blocks: Vec<Block>,
    /// The last call cannot be read.
    is_half: bool,
}

impl Answers {
    pub(super) fn check(&mut self, view: &View<'_>) -> Result<(), String> {
        match view.event {
            Event::ModelDelta { delta: Delta::Block(block), .. } if !view.is_dead => {
                self.blocks.push(block.clone());
            }
            Event::ModelDelta { delta: Delta::Call { call, inspection }, .. } if !view.is_dead => {
                self.blocks.push(Block::ToolUse(call.clone()));
                self.is_half = inspection.problem.is_some();
            }
            // A call that cannot be read, at the very end of a cut answer, was cut itself.
            Event::ModelEnded { stop: Stop::OutputLimit | Stop::WindowFull, .. }
                if !view.is_dead && self.is_half =>
            {
                if let Some(Block::ToolUse(_)) = self.blocks.last() {
                    self.blocks.pop();
                }
            }
            _ => {}
        }
        for effect in view.effects {
            match effect {
                Effect::Tell(Notice::Retracted { .. }) => self.blocks.clear(),
                Effect::CallModel(_) | Effect::Summarize { .. } | Effect::Finish(_) => {
                    let blocks = std::mem::take(&mut self.blocks);
                    let is_worth_keeping = blocks.iter().any(is_said);
                    if is_worth_keeping && !is_written(&blocks, view) {
                        return Err(format!("an answer is gone: {blocks:?}"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reasoning alone, or blanks, say nothing.
fn is_said(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::Thinking(_) => false,
        Block::Provider(block) => !block.is_reasoning,
        _ => true,
    }
}

fn is_written(blocks: &[Block], view: &View<'_>) -> bool {
    // The answer is near the end: behind it are results, attachments and hidden words.
    let answers = view.state.transcript.messages().rev();
    let mut answers = answers.filter(|message| message.role == Role::Assistant);
    answers.any(|message: &std::sync::Arc<Message>| begins_with(message, blocks))
}

/// An interrupted answer may end with a piece that was not whole.
fn begins_with(message: &Message, blocks: &[Block]) -> bool {
    message.content.len() >= blocks.len()
        && message.content.iter().zip(blocks).all(|(written, said)| match (written, said) {
            (Block::ToolUse(written), Block::ToolUse(said)) => written.input == said.input,
            (written, said) => written == said,
        })
}
