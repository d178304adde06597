//! Describes a note for `windlass replay`, which prints the one that does not follow from the
//! events. Users and scripts rely on these names, so they do not follow renamed types.

use windlass_vocabulary::Usage;

use super::{BilledRow, JournalNote, RunEndedNote, ToolIntent};
use crate::variant_names::{describe_source, effect_class_name, to_camel_case};

impl JournalNote {
    /// The note's kind, and its content in parentheses.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Intended(intent) => format!("Intended({})", describe_intent(intent)),
            Self::Billed(row) => format!("Billed({})", describe_row(row)),
            Self::Asked(ticket) => format!("Asked(Ticket({}))", ticket.0),
            Self::Ended(ended) => format!("Ended({})", describe_ended(ended)),
            Self::Context(usage) => format!("Context({} tokens)", usage.total.0),
            Self::Continued(transition, turn) => {
                format!("Continued({}, {turn})", to_camel_case(transition.name()))
            }
            Self::Titled(title) => format!("Titled({title:?})"),
            Self::Named(name) => format!("Named({name:?})"),
            Self::Unqueued(place) => format!("Unqueued({place})"),
            Self::Lines(lines) => format!("Lines({lines:?})"),
            Self::Unknown(json) => format!("Unknown({json:?})"),
        }
    }
}

fn describe_intent(intent: &ToolIntent) -> String {
    let ToolIntent { ticket, call, tool, class } = intent;
    format!(
        "Intent {{ ticket: Ticket({}), call: ToolCallId({:?}), tool: ToolName({:?}), class: {} }}",
        ticket.0,
        call.as_str(),
        tool.as_str(),
        effect_class_name(*class)
    )
}

fn describe_row(row: &BilledRow) -> String {
    format!(
        "Row {{ agent: AgentId({:?}), model: ModelName({:?}), source: {}, predicted: Tokens({}), \
         predicted_read: Tokens({}), billed: {}, cost: MicroUsd({}), kept: MicroUsd({}), \
         prices: {:?}, cache_miss: {:?} }}",
        row.agent.as_str(),
        row.model.as_str(),
        describe_source(row.source),
        row.predicted.0,
        row.predicted_read.0,
        describe_usage(&row.billed),
        row.cost.0,
        row.kept.0,
        row.prices,
        row.cache_miss
    )
}

fn describe_usage(usage: &Usage) -> String {
    format!(
        "Usage {{ input: Tokens({}), output: Tokens({}), cache_write: Tokens({}), \
         cache_read: Tokens({}) }}",
        usage.input.0, usage.output.0, usage.cache_write.0, usage.cache_read.0
    )
}

fn describe_ended(ended: &RunEndedNote) -> String {
    format!(
        "Ended {{ terminal: {}, turns: {}, messages: {}, cost: MicroUsd({}), deferred: {} }}",
        to_camel_case(ended.terminal.name()),
        ended.turns,
        ended.messages,
        ended.cost.0,
        ended.deferred
    )
}

#[cfg(test)]
mod tests {
    use windlass_vocabulary::{
        AgentId, Chore, EffectClass, MicroUsd, ModelName, RequestSource, Terminal, Ticket, Tokens,
        ToolCallId, ToolName, Transition,
    };

    use super::*;

    #[test]
    fn notes_are_described_as_they_always_were() {
        let intent = ToolIntent {
            ticket: Ticket(3),
            call: ToolCallId::from("call_\"1"),
            tool: ToolName::from("Bash"),
            class: EffectClass::Idempotent,
        };
        let row = BilledRow {
            agent: AgentId::from("main"),
            model: ModelName::from("m"),
            source: RequestSource::Chore(Chore::Title),
            predicted: Tokens(1),
            predicted_read: Tokens(2),
            billed: Usage { input: Tokens(3), output: Tokens(4), ..Usage::default() },
            cost: MicroUsd(5),
            kept: MicroUsd(0),
            prices: Some("2026".to_owned()),
            cache_miss: None,
        };
        let ended = RunEndedNote {
            terminal: Terminal::MaxBudgetUsd,
            turns: 1,
            messages: 2,
            cost: MicroUsd(7),
            deferred: true,
        };
        let known = [
            (
                JournalNote::Intended(intent),
                "Intended(Intent { ticket: Ticket(3), call: ToolCallId(\"call_\\\"1\"), \
                 tool: ToolName(\"Bash\"), class: Idempotent })",
            ),
            (
                JournalNote::Billed(row),
                "Billed(Row { agent: AgentId(\"main\"), model: ModelName(\"m\"), \
                 source: Chore(Title), predicted: Tokens(1), predicted_read: Tokens(2), \
                 billed: Usage { input: Tokens(3), output: Tokens(4), cache_write: Tokens(0), \
                 cache_read: Tokens(0) }, cost: MicroUsd(5), kept: MicroUsd(0), \
                 prices: Some(\"2026\"), cache_miss: None })",
            ),
            (
                JournalNote::Ended(ended),
                "Ended(Ended { terminal: MaxBudgetUsd, turns: 1, messages: 2, cost: MicroUsd(7), \
                 deferred: true })",
            ),
            (JournalNote::Continued(Transition::NextTurn, 2), "Continued(NextTurn, 2)"),
        ];
        for (note, text) in known {
            assert_eq!(note.describe(), text);
        }
    }
}
