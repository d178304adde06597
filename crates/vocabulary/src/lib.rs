//! The nouns every other crate shares: data only, no decisions, no input or output.
//!
//! Reading order: [`id`], [`content`], [`message`], [`tool`], [`model`], [`request`], [`delta`],
//! [`failure`], [`usage`], [`reason`], [`permission`], [`hook`], [`notice`].
#![no_std]

extern crate alloc;

pub mod content;
pub mod delta;
pub mod failure;
pub mod hook;
pub mod id;
pub mod inventory;
pub mod json;
pub mod message;
pub mod messages;
pub mod model;
pub mod notice;
pub mod permission;
pub mod reason;
pub mod request;
pub mod time;
pub mod tool;
pub mod usage;

pub use content::{Block, Media, ProviderBlock, ResultPart, Thinking, ToolResult};
pub use delta::{Delta, Stop};
pub use failure::{Demand, FailureKind, ModelFailure};
pub use hook::{HookNotice, HookOutcome, HookPoint, HookReport, HookVerdict};
pub use id::{AgentId, AttemptId, MessageId, SessionId, Ticket, ToolCallId};
pub use json::Json;
pub use message::{AttachmentKind, Message, MetaKind, Origin, Role};
pub use messages::Messages;
pub use model::{Effort, ModelFacts, ModelName, Prices, ThinkingMode, Wire};
pub use notice::Notice;
pub use permission::{Answer, Mode, PermissionQuestion};
pub use reason::{Outcome, Terminal, Transition};
pub use request::{Chore, Clearing, ModelRequest, Source};
pub use time::Millis;
pub use tool::{
    Concurrency, ContextUpdate, EffectClass, Inspection, Seen, ToolCall, ToolName, ToolOutcome,
    ToolSpec,
};
pub use usage::{MicroUsd, Tokens, Usage};
