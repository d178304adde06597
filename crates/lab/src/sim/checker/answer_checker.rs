//! What an answer said in whole blocks is in the transcript, unless it was taken back: nothing that
//! was shown to the end is lost in silence.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{ContentBlock, Delta, Message, ModelStopReason, Notice, Role};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct AnswerChecker {
    /// Whole blocks of the answer under way, calls under the names the provider gave them.
    blocks: Vec<ContentBlock>,
    is_half: bool,
}

impl AnswerChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        if !view.is_stale {
            self.record_event(view.event);
        }
        for effect in view.effects {
            if let Effect::Tell(Notice::Retracted { .. }) = effect {
                self.blocks.clear();
            } else if let Effect::CallModel(_) | Effect::Summarize { .. } | Effect::Finish(_) =
                effect
            {
                let blocks = std::mem::take(&mut self.blocks);
                let is_worth_keeping = blocks.iter().any(has_content);
                if is_worth_keeping && !is_written(&blocks, view) {
                    return Err(format!("an answer is gone: {blocks:?}"));
                }
            }
        }
        Ok(())
    }

    fn record_event(&mut self, event: &Event) {
        if let Event::ModelDelta { delta: Delta::Block(block), .. } = event {
            self.blocks.push(block.clone());
        } else if let Event::ModelDelta { delta: Delta::Call { call, inspection }, .. } = event {
            self.blocks.push(ContentBlock::ToolUse(call.clone()));
            self.is_half = inspection.problem.is_some();
        } else if let Event::ModelEnded { stop, .. } = event
            && matches!(stop, ModelStopReason::OutputLimit | ModelStopReason::WindowFull)
            && self.is_half
            && let Some(ContentBlock::ToolUse(_)) = self.blocks.last()
        {
            // A call that cannot be read, at the very end of a cut answer, was cut itself.
            self.blocks.pop();
        }
    }
}

fn has_content(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => !text.trim().is_empty(),
        ContentBlock::Thinking(_) => false,
        ContentBlock::Provider(block) => !block.is_reasoning,
        ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_) | ContentBlock::Media(_) => true,
    }
}

fn is_written(blocks: &[ContentBlock], view: &StepView<'_>) -> bool {
    // The answer is near the end: behind it are results, attachments and hidden words.
    let answers = view.state.transcript.messages().rev();
    let mut answers = answers.filter(|message| message.role == Role::Assistant);
    answers.any(|message: &std::sync::Arc<Message>| begins_with(message, blocks))
}

/// An interrupted answer may end with a piece that was not whole.
fn begins_with(message: &Message, blocks: &[ContentBlock]) -> bool {
    message.content.len() >= blocks.len()
        && message.content.iter().zip(blocks).all(|(written, answered)| match (written, answered) {
            (ContentBlock::ToolUse(written), ContentBlock::ToolUse(answered)) => {
                written.input == answered.input
            }
            (written, answered) => written == answered,
        })
}
