//! Limits on one answer, kept by every reader, so that no stream can fill the memory.

use alloc::format;

use windlass_vocabulary::ModelFailure;

use crate::stream_failure::protocol_failure;

/// Limits on one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Bytes of events that are kept.
    pub bytes: usize,
    /// Blocks and calls.
    pub blocks: usize,
}

impl Default for ResponseLimits {
    /// Some sixty times what the longest answer needs, and some hundred times the blocks.
    fn default() -> Self {
        Self { bytes: 32 * 1024 * 1024, blocks: 10_000 }
    }
}

/// What one answer has used of its limits.
#[derive(Debug, Default)]
pub(crate) struct ResponseBudget {
    limits: ResponseLimits,
    spent: SpentResponseBudget,
}

#[derive(Debug, Default)]
struct SpentResponseBudget {
    bytes: usize,
    blocks: usize,
}

impl ResponseBudget {
    pub(crate) fn new(limits: ResponseLimits) -> Self {
        Self { limits, spent: SpentResponseBudget::default() }
    }

    /// Counts the bytes of an event that will be kept.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), ModelFailure> {
        self.spent.bytes = self.spent.bytes.saturating_add(bytes);
        let limit = self.limits.bytes;
        if self.spent.bytes > limit {
            return Err(protocol_failure(format!("the answer is over {limit} bytes")));
        }
        Ok(())
    }

    /// Counts one more block.
    pub(crate) fn spend_block(&mut self) -> Result<(), ModelFailure> {
        self.spent.blocks = self.spent.blocks.saturating_add(1);
        let limit = self.limits.blocks;
        if self.spent.blocks > limit {
            return Err(protocol_failure(format!("the answer is over {limit} blocks")));
        }
        Ok(())
    }
}
