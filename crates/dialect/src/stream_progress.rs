//! What every dialect tracks alike while an answer streams.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{ModelName, ModelStopReason, Usage};

use crate::DecodedEvent;
use crate::answer_calls::AnswerCalls;
use crate::response_limits::ResponseBudget;
use crate::stream_failure::truncated_stream_failure;

/// How far one answer has come.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    pub(crate) is_started: bool,
    pub(crate) calls: AnswerCalls,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<AnswerStop>,
    pub(crate) budget: ResponseBudget,
}

/// Why the model stopped.
#[derive(Debug)]
pub(crate) struct AnswerStop {
    pub(crate) reason: ModelStopReason,
    /// The provider's own words, if the reason alone does not say it.
    pub(crate) detail: Option<String>,
}

impl AnswerStop {
    pub(crate) fn new(reason: ModelStopReason) -> Self {
        Self { reason, detail: None }
    }

    pub(crate) fn with_detail(reason: ModelStopReason, detail: String) -> Self {
        Self { reason, detail: Some(detail) }
    }
}

impl StreamProgress {
    /// Reports that the answer began. `false`, and nothing reported, if it had begun before.
    pub(crate) fn start(
        &mut self,
        message_id: Option<&str>,
        model: Option<&str>,
        out: &mut Vec<DecodedEvent>,
    ) -> bool {
        if mem::replace(&mut self.is_started, true) {
            return false;
        }
        let message_id = message_id.filter(|id| !id.is_empty());
        let model = model.filter(|name| !name.is_empty());
        self.calls.set_answer_id(message_id);
        out.push(DecodedEvent::Started {
            message_id: message_id.map(String::from),
            model: model.map(ModelName::from),
        });
        true
    }

    pub(crate) fn update_usage(&mut self, usage: Usage, out: &mut Vec<DecodedEvent>) {
        self.usage = usage;
        out.push(DecodedEvent::Usage(usage));
    }

    /// The terminal item. The stop reason is the last thing an answer needs; a stream that ended
    /// without one was cut.
    pub(crate) fn finish(&mut self) -> DecodedEvent {
        match self.stop.take() {
            Some(AnswerStop { reason, detail }) => {
                DecodedEvent::Ended { stop: reason, usage: self.usage, detail }
            }
            None => DecodedEvent::Failed(truncated_stream_failure()),
        }
    }
}
