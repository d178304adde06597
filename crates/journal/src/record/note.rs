//! Notes: data derived from events, stored so that it can be read without a replay.
//!
//! Notes change no state. An unknown note is preserved: a later version may write more kinds
//! without a new format.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use windlass_engine::ledger;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{
    AgentId, EffectClass, MicroUsd, ModelName, RequestSource, Terminal, Ticket, Tokens, ToolCall,
    ToolCallId, ToolName, Transition, Usage,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalNote {
    /// A tool is about to start.
    Intended(ToolIntent),
    Billed(BilledRow),
    /// The user is asked about a call.
    Asked(Ticket),
    Ended(RunEndedNote),
    /// What filled the context window, and what was dropped to make room.
    Context(Box<ContextUsage>),
    /// The run continued: why, and the number of the turn.
    Continued(Transition, u32),
    Titled(String),
    /// The name of the next submitted message in the transcript.
    Named(String),
    /// The queued input at this position was removed.
    Unqueued(u64),
    /// The transcript's names for the lines of the messages that are imported next.
    Lines(Vec<Vec<String>>),
    /// An unknown kind: its JSON.
    Unknown(String),
}

/// A tool is about to start. Its outcome is unknown unless a `ToolEnded` with the same ticket
/// follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolIntent {
    pub ticket: Ticket,
    pub call: ToolCallId,
    pub tool: ToolName,
    /// What running it twice would cause.
    pub class: EffectClass,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BilledRow {
    pub agent: AgentId,
    pub model: ModelName,
    pub source: RequestSource,
    /// The estimated input.
    pub predicted: Tokens,
    /// The input expected from the cache.
    pub predicted_read: Tokens,
    /// The usage the provider reported.
    pub billed: Usage,
    pub cost: MicroUsd,
    /// What stays reserved in addition, because the requesting process died before the rest of the
    /// cost was known.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub kept: MicroUsd,
    /// The version of the price table, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Why the cache returned less than expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_miss: Option<String>,
}

fn is_nothing(kept: &MicroUsd) -> bool {
    kept.0 == 0
}

/// A run ended; the figures are totals of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEndedNote {
    pub terminal: Terminal,
    pub turns: u32,
    /// Messages of the session.
    pub messages: u64,
    pub cost: MicroUsd,
    /// Its only call was deferred, so the next run begins with it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub deferred: bool,
}

impl ToolIntent {
    /// The intent of a call that is about to start.
    #[must_use]
    pub fn from_call(ticket: Ticket, call: &ToolCall, class: EffectClass) -> Self {
        Self { ticket, call: call.id.clone(), tool: call.name.clone(), class }
    }
}

impl BilledRow {
    /// A row of the engine's ledger, with data the engine does not have.
    #[must_use]
    pub fn from_ledger_row(row: &ledger::Row, agent: &AgentId, prices: Option<&str>) -> Self {
        let row = row.clone();
        Self {
            agent: agent.clone(),
            model: row.model,
            source: row.source,
            predicted: row.predicted,
            predicted_read: row.predicted_read,
            billed: row.billed,
            cost: row.cost,
            kept: MicroUsd(0),
            prices: prices.map(str::to_owned),
            cache_miss: row.cache_miss,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KnownNote<I, R, T, C, L> {
    Intended(I),
    Billed(R),
    Asked(Ticket),
    Ended(RunEndedNote),
    Titled(T),
    Context(C),
    Continued(Transition, u32),
    Named(T),
    Unqueued(u64),
    Lines(L),
}

type OwnedKnownNote = KnownNote<ToolIntent, BilledRow, String, Box<ContextUsage>, Vec<Vec<String>>>;

impl Serialize for JournalNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        match self {
            Self::Intended(intent) => {
                KnownNote::<_, &BilledRow, &str, &ContextUsage, &[Vec<String>]>::Intended(intent)
            }
            Self::Billed(row) => KnownNote::Billed(row),
            Self::Asked(ticket) => KnownNote::Asked(*ticket),
            Self::Ended(ended) => KnownNote::Ended(*ended),
            Self::Titled(title) => KnownNote::Titled(title.as_str()),
            Self::Context(inventory) => KnownNote::Context(&**inventory),
            Self::Continued(transition, turn) => KnownNote::Continued(*transition, *turn),
            Self::Named(name) => KnownNote::Named(name.as_str()),
            Self::Unqueued(place) => KnownNote::Unqueued(*place),
            Self::Lines(lines) => KnownNote::Lines(lines.as_slice()),
            Self::Unknown(json) => {
                let raw: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
                return raw.serialize(serializer);
            }
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JournalNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(match serde_json::from_str::<OwnedKnownNote>(raw.get()) {
            Ok(KnownNote::Intended(intent)) => Self::Intended(intent),
            Ok(KnownNote::Billed(row)) => Self::Billed(row),
            Ok(KnownNote::Asked(ticket)) => Self::Asked(ticket),
            Ok(KnownNote::Ended(ended)) => Self::Ended(ended),
            Ok(KnownNote::Titled(title)) => Self::Titled(title),
            Ok(KnownNote::Context(inventory)) => Self::Context(inventory),
            Ok(KnownNote::Continued(transition, turn)) => Self::Continued(transition, turn),
            Ok(KnownNote::Named(name)) => Self::Named(name),
            Ok(KnownNote::Unqueued(place)) => Self::Unqueued(place),
            Ok(KnownNote::Lines(lines)) => Self::Lines(lines),
            Err(_) => Self::Unknown(raw.get().to_owned()),
        })
    }
}
