//! The data types shared by all other crates: no decisions, no input or output.
//!
//! Reading order: [`id`], [`content`], [`message`], [`tool`], [`model`], [`request`], [`delta`],
//! [`failure`], [`usage`], [`reason`], [`permission`], [`hook`], [`notice`].
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

pub mod civil_date;
pub mod content;
pub mod context_usage;
pub mod delta;
pub mod failure;
pub mod hex;
pub mod hook;
pub mod id;
pub mod interrupt;
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

pub use civil_date::{CivilDate, format_timestamp};
pub use content::{
    ContentBlock, MediaContent, ProviderBlock, ThinkingBlock, ToolResult, ToolResultPart,
};
pub use delta::{Delta, ModelStopReason};
pub use failure::{FailureKind, ModelFailure, RecoveryAction};
pub use hex::to_hex;
pub use hook::{HookNotice, HookOutcome, HookPoint, HookReport, HookVerdict};
pub use id::{AgentId, AnswerIds, AttemptId, MessageId, SessionId, Ticket, ToolCallId};
pub use interrupt::Interrupt;
pub use json::Json;
pub use message::{AttachmentKind, Message, MessageOrigin, MetaKind, Role};
pub use messages::Messages;
pub use model::{Effort, ModelFacts, ModelName, Prices, ThinkingMode, WireFormat};
pub use notice::Notice;
pub use permission::{PermissionAnswer, PermissionMode, PermissionQuestion};
pub use reason::{Outcome, Terminal, Transition};
pub use request::{Chore, ModelRequest, RequestSource, ToolResultClearing};
pub use time::Millis;
pub use tool::{
    Concurrency, ContextUpdate, EffectClass, PathKind, ToolCall, ToolInspection, ToolName,
    ToolOutcome, ToolSpec,
};
pub use usage::{MicroUsd, Tokens, Usage};
