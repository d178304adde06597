//! Scrubs events, one kind after the other. Events are destructured completely, so that a new field
//! with text does not compile until it is handled here.

use std::sync::Arc;

use windlass_engine::settings::{Policy, PromptSettings, Rules};
use windlass_engine::{Event, Settings};
use windlass_vocabulary::{
    ContentBlock, ContextUpdate, Delta, HookReport, HookVerdict, Json, MediaContent, Message,
    ModelFailure, PermissionAnswer, PermissionMode, ProviderBlock, ThinkingBlock, ToolCall,
    ToolInspection, ToolOutcome, ToolResult, ToolResultPart, ToolSpec,
};

use super::{JournalScrubber, ScrubbedCallDecision};

impl JournalScrubber {
    pub(super) fn scrub_event(&self, event: Event) -> Event {
        match event {
            Event::UserSubmitted { content, pinned } => {
                Event::UserSubmitted { content: self.scrub_blocks(content), pinned }
            }
            Event::QueueChanged { place, content } => Event::QueueChanged {
                place,
                content: content.map(|content| self.scrub_blocks(content)),
            },
            Event::Adopted { messages } => {
                let scrubbed = |message: Message| Message {
                    content: self.scrub_blocks(message.content),
                    ..message
                };
                Event::Adopted { messages: messages.into_iter().map(scrubbed).collect() }
            }
            Event::Configured(settings) => {
                Event::Configured(Box::new(self.scrub_settings(*settings)))
            }
            Event::CompactionAsked { focus } => {
                Event::CompactionAsked { focus: focus.map(|focus| self.scrub_text(&focus)) }
            }
            Event::ModelDelta { attempt, delta } => {
                Event::ModelDelta { attempt, delta: self.scrub_delta(delta) }
            }
            Event::ModelFailed { attempt, failure } => {
                Event::ModelFailed { attempt, failure: self.scrub_failure(failure) }
            }
            Event::ToolProgressed { ticket, text } => {
                Event::ToolProgressed { ticket, text: self.scrub_text(&text) }
            }
            Event::ToolEnded { ticket, outcome } => {
                Event::ToolEnded { ticket, outcome: self.scrub_outcome(outcome) }
            }
            Event::PermissionAnswered { ticket, answer, inspection } => Event::PermissionAnswered {
                ticket,
                answer: self.scrub_answer(answer),
                inspection: inspection.map(|inspection| self.scrub_inspection(inspection)),
            },
            Event::HookEnded { ticket, report } => {
                Event::HookEnded { ticket, report: self.scrub_hook_report(report) }
            }
            Event::SummaryEnded { ticket, result, usage } => {
                let result = result
                    .map(|text| self.scrub_text(&text))
                    .map_err(|failure| self.scrub_failure(failure));
                Event::SummaryEnded { ticket, result, usage }
            }
            Event::AttachmentArrived { kind, text } => {
                Event::AttachmentArrived { kind, text: self.scrub_text(&text) }
            }
            Event::ChoreAsked { chore, about } => {
                Event::ChoreAsked { chore, about: self.scrub_text(&about) }
            }
            // A server can put any text in its ids.
            Event::ModelStarted { attempt, ids: _ } => Event::ModelStarted { attempt, ids: None },
            Event::Interrupted(_)
            | Event::Resumed
            | Event::ModelEnded { .. }
            | Event::TimerFired { .. } => event,
        }
    }

    fn scrub_settings(&self, settings: Settings) -> Settings {
        let Policy { directories, standing, .. } = &settings.policy;
        let asks = self.build_rules(ScrubbedCallDecision::Asked);
        let policy = Policy {
            mode: PermissionMode::Default,
            directories: directories.iter().map(|path| self.scrub_text(path)).collect(),
            standing: standing.as_ref().map(|path| self.scrub_text(path)),
            can_ask: settings.policy.can_ask || !asks.is_empty(),
            rules: Rules {
                allow: self.build_rules(ScrubbedCallDecision::Allowed),
                ask: asks,
                deny: self.build_rules(ScrubbedCallDecision::Denied),
            },
            // The generated rules decide about each call.
            held: None,
            cell: settings.policy.cell,
        };
        let mut context = settings.context.clone();
        context.spill_directory = self.scrub_shared_text(&context.spill_directory);
        let PromptSettings { system_prompt, system_context, user_context } = &settings.prompt;
        Settings {
            prompt: PromptSettings {
                system_prompt: self.scrub_shared_text(system_prompt),
                system_context: system_context
                    .iter()
                    .map(|(key, text)| (self.scrub_text(key), self.scrub_text(text)))
                    .collect(),
                user_context: user_context.as_deref().map(|text| self.scrub_shared_text(text)),
            },
            tools: settings.tools.iter().map(|spec| self.scrub_tool_spec(spec)).collect(),
            policy,
            context,
            ..settings
        }
    }

    fn scrub_tool_spec(&self, spec: &ToolSpec) -> ToolSpec {
        ToolSpec {
            name: self.scrub_tool_name(&spec.name, None),
            description: self.scrub_shared_text(&spec.description),
            input_schema: self.scrub_json(&spec.input_schema),
            result_bytes_max: spec.result_bytes_max,
        }
    }

    fn scrub_delta(&self, delta: Delta) -> Delta {
        match delta {
            Delta::Text(text) => Delta::Text(self.scrub_text(&text)),
            Delta::Thinking(text) => Delta::Thinking(self.scrub_text(&text)),
            Delta::CallInput(text) => Delta::CallInput(self.scrub_text(&text)),
            Delta::CallStarted { id, name } => {
                let name = self.scrub_tool_name(&name, Some(&id));
                Delta::CallStarted { id, name }
            }
            Delta::Block(block) => Delta::Block(self.scrub_block(block)),
            Delta::Call { call, inspection } => Delta::Call {
                call: self.scrub_call(call),
                inspection: self.scrub_inspection(inspection),
            },
            Delta::Raw(_) => Delta::Raw(Json::empty_object()),
            Delta::Usage(_) | Delta::Cleared { .. } => delta,
        }
    }

    fn scrub_blocks(&self, blocks: Vec<ContentBlock>) -> Vec<ContentBlock> {
        blocks.into_iter().map(|block| self.scrub_block(block)).collect()
    }

    fn scrub_block(&self, block: ContentBlock) -> ContentBlock {
        match block {
            ContentBlock::Text(text) => ContentBlock::Text(self.scrub_text(&text)),
            ContentBlock::Thinking(ThinkingBlock { text, signature }) => {
                ContentBlock::Thinking(ThinkingBlock {
                    text: self.scrub_text(&text),
                    signature: signature.map(|signature| self.scrub_shared_text(&signature)),
                })
            }
            ContentBlock::ToolUse(call) => ContentBlock::ToolUse(self.scrub_call(call)),
            ContentBlock::ToolResult(ToolResult { call, content, is_error }) => {
                ContentBlock::ToolResult(ToolResult {
                    call,
                    content: self.scrub_parts(content),
                    is_error,
                })
            }
            ContentBlock::Media(media) => ContentBlock::Media(self.scrub_media(media)),
            ContentBlock::Provider(ProviderBlock { wire, kind, is_reasoning, json }) => {
                let json = self.scrub_json(&json);
                ContentBlock::Provider(ProviderBlock { wire, kind, is_reasoning, json })
            }
        }
    }

    fn scrub_call(&self, call: ToolCall) -> ToolCall {
        let ToolCall { id, name, input, signature } = call;
        let signature = signature.map(|signature| self.scrub_shared_text(&signature));
        ToolCall {
            name: self.scrub_tool_name(&name, Some(&id)),
            id,
            input: self.scrub_json(&input),
            signature,
        }
    }

    fn scrub_inspection(&self, inspection: ToolInspection) -> ToolInspection {
        let problem = inspection.problem.map(|problem| self.scrub_text(&problem));
        ToolInspection { problem, seen: Vec::new(), ..inspection }
    }

    fn scrub_outcome(&self, outcome: ToolOutcome) -> ToolOutcome {
        ToolOutcome {
            content: self.scrub_parts(outcome.content),
            files: outcome.files.iter().map(|path| self.scrub_shared_text(path)).collect(),
            structured: None,
            update: outcome.update.map(|update| self.scrub_update(update)),
            ..outcome
        }
    }

    /// The generated rules contain the effect of a mode change.
    fn scrub_update(&self, update: ContextUpdate) -> ContextUpdate {
        let ContextUpdate { mode: _, directories, tools, working_directory, tasks } = update;
        ContextUpdate {
            mode: None,
            directories: directories.iter().map(|path| self.scrub_shared_text(path)).collect(),
            tools: tools.iter().map(|spec| self.scrub_tool_spec(spec)).collect(),
            working_directory: working_directory.map(|path| self.scrub_shared_text(&path)),
            tasks: tasks.map(|text| self.scrub_shared_text(&text)),
        }
    }

    fn scrub_parts(&self, parts: Vec<ToolResultPart>) -> Vec<ToolResultPart> {
        let scrubbed = |part| match part {
            ToolResultPart::Text(text) => ToolResultPart::Text(self.scrub_text(&text)),
            ToolResultPart::Media(media) => ToolResultPart::Media(self.scrub_media(media)),
        };
        parts.into_iter().map(scrubbed).collect()
    }

    fn scrub_media(&self, media: MediaContent) -> MediaContent {
        let MediaContent { media_type, data, name } = media;
        MediaContent {
            media_type,
            data: Arc::from("A".repeat(data.len())),
            name: self.scrub_shared_text(&name),
        }
    }

    fn scrub_answer(&self, answer: PermissionAnswer) -> PermissionAnswer {
        match answer {
            PermissionAnswer::Allow { updated_input, remember: _ } => PermissionAnswer::Allow {
                updated_input: updated_input.map(|input| self.scrub_json(&input)),
                remember: Vec::new(),
            },
            PermissionAnswer::Deny { message, interrupt } => {
                PermissionAnswer::Deny { message: self.scrub_text(&message), interrupt }
            }
        }
    }

    fn scrub_hook_report(&self, report: HookReport) -> HookReport {
        let HookReport { verdict, name, context, updated, output, spent } = report;
        let verdict = match verdict {
            HookVerdict::Ask(text) => HookVerdict::Ask(self.scrub_text(&text)),
            HookVerdict::Defer(text) => HookVerdict::Defer(self.scrub_text(&text)),
            HookVerdict::Block(text) => HookVerdict::Block(self.scrub_text(&text)),
            HookVerdict::Halt(text) => HookVerdict::Halt(self.scrub_text(&text)),
            HookVerdict::Pass | HookVerdict::Allow => verdict,
        };
        HookReport {
            verdict,
            name: self.scrub_text(&name),
            context: context.iter().map(|text| self.scrub_text(text)).collect(),
            output: output.map(|text| self.scrub_text(&text)),
            updated: updated
                .map(|(input, found)| (self.scrub_json(&input), self.scrub_inspection(found))),
            spent,
        }
    }

    fn scrub_failure(&self, failure: ModelFailure) -> ModelFailure {
        ModelFailure {
            message: self.scrub_text(&failure.message),
            request_id: failure.request_id.map(|id| self.scrub_text(&id)),
            ..failure
        }
    }

    fn scrub_json(&self, json: &Json) -> Json {
        Json::from_checked(&self.scrub_text(json.as_str()))
    }

    fn scrub_shared_text(&self, text: &str) -> Arc<str> {
        Arc::from(self.scrub_text(text))
    }
}
