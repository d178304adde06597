//! Events without words, one kind after the other. Whatever gets a new field with a text in it stops
//! compiling here, if it is taken apart by its fields.

use std::sync::Arc;

use windlass_engine::settings::{Policy, Rules};
use windlass_engine::{Event, Settings};
use windlass_vocabulary::{
    Answer, Block, ContextUpdate, Delta, HookReport, HookVerdict, Inspection, Json, Media, Message,
    Mode, ModelFailure, ProviderBlock, ResultPart, Thinking, ToolCall, ToolOutcome, ToolResult,
    ToolSpec,
};

use super::{Fate, Scrubber};

impl Scrubber {
    pub(super) fn event(&self, event: Event) -> Event {
        match event {
            Event::UserSubmitted { content, pinned } => {
                Event::UserSubmitted { content: self.blocks(content), pinned }
            }
            Event::QueueChanged { place, content } => {
                Event::QueueChanged { place, content: content.map(|content| self.blocks(content)) }
            }
            Event::Adopted { messages } => {
                let scrubbed =
                    |message: Message| Message { content: self.blocks(message.content), ..message };
                Event::Adopted { messages: messages.into_iter().map(scrubbed).collect() }
            }
            Event::Configured(settings) => Event::Configured(Box::new(self.settings(*settings))),
            Event::CompactionAsked { focus } => {
                Event::CompactionAsked { focus: focus.map(|focus| self.text(&focus)) }
            }
            Event::ModelDelta { attempt, delta } => {
                Event::ModelDelta { attempt, delta: self.delta(delta) }
            }
            Event::ModelFailed { attempt, failure } => {
                Event::ModelFailed { attempt, failure: self.failure(failure) }
            }
            Event::ToolProgressed { ticket, text } => {
                Event::ToolProgressed { ticket, text: self.text(&text) }
            }
            Event::ToolEnded { ticket, outcome } => {
                Event::ToolEnded { ticket, outcome: self.outcome(outcome) }
            }
            Event::PermissionAnswered { ticket, answer, inspection } => Event::PermissionAnswered {
                ticket,
                answer: self.answer(answer),
                inspection: inspection.map(|inspection| self.inspection(inspection)),
            },
            Event::HookEnded { ticket, report } => {
                Event::HookEnded { ticket, report: self.report(report) }
            }
            Event::SummaryEnded { ticket, result, usage } => {
                let result =
                    result.map(|text| self.text(&text)).map_err(|failure| self.failure(failure));
                Event::SummaryEnded { ticket, result, usage }
            }
            Event::AttachmentArrived { kind, text } => {
                Event::AttachmentArrived { kind, text: self.text(&text) }
            }
            Event::ChoreAsked { chore, about } => {
                Event::ChoreAsked { chore, about: self.text(&about) }
            }
            Event::Interrupted(_)
            | Event::Resumed
            | Event::ModelStarted { .. }
            | Event::ModelEnded { .. }
            | Event::TimerFired { .. } => event,
        }
    }

    fn settings(&self, settings: Settings) -> Settings {
        let Policy { directories, standing, .. } = &settings.policy;
        let asks = self.rules(Fate::Asked);
        let policy = Policy {
            mode: Mode::Default,
            directories: directories.iter().map(|path| self.text(path)).collect(),
            standing: standing.as_ref().map(|path| self.text(path)),
            can_ask: settings.policy.can_ask || !asks.is_empty(),
            rules: Rules {
                allow: self.rules(Fate::Ran),
                ask: asks,
                deny: self.rules(Fate::Denied),
            },
            // The rules above say what became of each call.
            held: None,
        };
        let mut context = settings.context.clone();
        context.spill_directory = self.shared(&context.spill_directory);
        let facts = settings.system_context.iter();
        Settings {
            system_prompt: self.shared(&settings.system_prompt),
            system_context: facts.map(|(key, text)| (self.text(key), self.text(text))).collect(),
            user_context: settings.user_context.as_deref().map(|text| self.shared(text)),
            tools: settings.tools.iter().map(|spec| self.spec(spec)).collect(),
            policy,
            context,
            ..settings
        }
    }

    fn spec(&self, spec: &ToolSpec) -> ToolSpec {
        ToolSpec {
            name: self.tool(&spec.name, None),
            description: self.shared(&spec.description),
            input_schema: self.json(&spec.input_schema),
            result_bytes_max: spec.result_bytes_max,
        }
    }

    fn delta(&self, delta: Delta) -> Delta {
        match delta {
            Delta::Text(text) => Delta::Text(self.text(&text)),
            Delta::Thinking(text) => Delta::Thinking(self.text(&text)),
            Delta::CallInput(text) => Delta::CallInput(self.text(&text)),
            Delta::CallStarted { id, name } => {
                let name = self.tool(&name, Some(&id));
                Delta::CallStarted { id, name }
            }
            Delta::Block(block) => Delta::Block(self.block(block)),
            Delta::Call { call, inspection } => {
                Delta::Call { call: self.call(call), inspection: self.inspection(inspection) }
            }
            Delta::Raw(_) => Delta::Raw(Json::empty_object()),
            Delta::Usage(_) | Delta::Cleared { .. } => delta,
        }
    }

    fn blocks(&self, blocks: Vec<Block>) -> Vec<Block> {
        blocks.into_iter().map(|block| self.block(block)).collect()
    }

    fn block(&self, block: Block) -> Block {
        match block {
            Block::Text(text) => Block::Text(self.text(&text)),
            Block::Thinking(Thinking { text, signature }) => Block::Thinking(Thinking {
                text: self.text(&text),
                signature: signature.map(|signature| self.shared(&signature)),
            }),
            Block::ToolUse(call) => Block::ToolUse(self.call(call)),
            Block::ToolResult(ToolResult { call, content, is_error }) => {
                Block::ToolResult(ToolResult { call, content: self.parts(content), is_error })
            }
            Block::Media(media) => Block::Media(self.media(media)),
            Block::Provider(ProviderBlock { wire, kind, is_reasoning, json }) => {
                let json = self.json(&json);
                Block::Provider(ProviderBlock { wire, kind, is_reasoning, json })
            }
        }
    }

    fn call(&self, call: ToolCall) -> ToolCall {
        let ToolCall { id, name, input, signature } = call;
        let signature = signature.map(|signature| self.shared(&signature));
        ToolCall { name: self.tool(&name, Some(&id)), id, input: self.json(&input), signature }
    }

    fn inspection(&self, inspection: Inspection) -> Inspection {
        let problem = inspection.problem.map(|problem| self.text(&problem));
        Inspection { problem, seen: Vec::new(), ..inspection }
    }

    fn outcome(&self, outcome: ToolOutcome) -> ToolOutcome {
        ToolOutcome {
            content: self.parts(outcome.content),
            files: outcome.files.iter().map(|path| self.shared(path)).collect(),
            structured: None,
            update: outcome.update.map(|update| self.update(update)),
            ..outcome
        }
    }

    /// What a change of the mode allowed and forbade is in the rules.
    fn update(&self, update: ContextUpdate) -> ContextUpdate {
        let ContextUpdate { mode: _, directories, tools, working_directory, tasks } = update;
        ContextUpdate {
            mode: None,
            directories: directories.iter().map(|path| self.shared(path)).collect(),
            tools: tools.iter().map(|spec| self.spec(spec)).collect(),
            working_directory: working_directory.map(|path| self.shared(&path)),
            tasks: tasks.map(|text| self.shared(&text)),
        }
    }

    fn parts(&self, parts: Vec<ResultPart>) -> Vec<ResultPart> {
        let scrubbed = |part| match part {
            ResultPart::Text(text) => ResultPart::Text(self.text(&text)),
            ResultPart::Media(media) => ResultPart::Media(self.media(media)),
        };
        parts.into_iter().map(scrubbed).collect()
    }

    fn media(&self, media: Media) -> Media {
        let Media { media_type, data, name } = media;
        Media { media_type, data: Arc::from("A".repeat(data.len())), name: self.shared(&name) }
    }

    fn answer(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Allow { updated_input, remember: _ } => Answer::Allow {
                updated_input: updated_input.map(|input| self.json(&input)),
                remember: Vec::new(),
            },
            Answer::Deny { message, interrupt } => {
                Answer::Deny { message: self.text(&message), interrupt }
            }
        }
    }

    fn report(&self, report: HookReport) -> HookReport {
        let HookReport { verdict, name, context, updated, output, spent } = report;
        let verdict = match verdict {
            HookVerdict::Ask(text) => HookVerdict::Ask(self.text(&text)),
            HookVerdict::Defer(text) => HookVerdict::Defer(self.text(&text)),
            HookVerdict::Block(text) => HookVerdict::Block(self.text(&text)),
            HookVerdict::Halt(text) => HookVerdict::Halt(self.text(&text)),
            HookVerdict::Pass | HookVerdict::Allow => verdict,
        };
        HookReport {
            verdict,
            name: self.text(&name),
            context: context.iter().map(|text| self.text(text)).collect(),
            output: output.map(|text| self.text(&text)),
            updated: updated.map(|(input, found)| (self.json(&input), self.inspection(found))),
            spent,
        }
    }

    fn failure(&self, failure: ModelFailure) -> ModelFailure {
        ModelFailure {
            message: self.text(&failure.message),
            request_id: failure.request_id.map(|id| self.text(&id)),
            ..failure
        }
    }

    fn json(&self, json: &Json) -> Json {
        Json::from_checked(&self.text(json.as_str()))
    }

    fn shared(&self, text: &str) -> Arc<str> {
        Arc::from(self.text(text))
    }
}
