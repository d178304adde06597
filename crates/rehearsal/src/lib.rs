//! A model server that answers from a script instead of a model.
//!
//! For users who want to try their hooks, rules and budgets without spending tokens, for the
//! demonstration, and for every end-to-end test. Read in this order: [`Script`], [`ScriptedFault`],
//! [`Rehearsal`], then the files of `wire`. Besides scripts there is [`cassette`]: recorded,
//! scrubbed traffic with a real server, played back without it.
//!
//! # What can be rehearsed
//!
//! - Conversations over four wires, on their usual paths: text, reasoning, tool calls (with valid
//!   arguments, broken ones or repeated ids), every reason to stop, usage.
//! - An answer that depends on what was said last, on a tool result, on the model, on who asks.
//! - Refusals with any status, headers and body; a web page, or broken compression, instead of an
//!   answer.
//! - A stream that is cut at an event or a byte, falls silent, comes byte by byte, carries broken
//!   JSON or an error; a connection that is dropped or reset; bytes of your own.
//! - On the messages wire, a request whose history breaks the provider's rules is refused, as the
//!   provider would. [`Script::lenient`] turns that off.
//!
//! # What cannot
//!
//! - Anything before HTTP: names that do not resolve, TLS, proxies. Anything but HTTP/1.1.
//! - A listener on anything but 127.0.0.1.
//! - Judgement. The script does not know whether a tool's result was right; it only finds words.
//! - The rules of the other three wires, server-side tools, caches: what a provider does behind its
//!   wire is played only as far as the script says so.
//!
//! # A script
//!
//! Answers are used in order: the first one that is not used up and whose conditions are all met.
//!
//! ```
//! let script = windlass_rehearsal::Script::parse(r#"
//!     [[answer]]
//!     when = "fix"
//!     text = "I will run the tests."
//!     tool = [{ name = "Bash", input = { command = "cargo test" } }]
//!
//!     [[answer]]
//!     fault = { status = 529, headers = { "retry-after" = "1" } }
//!
//!     [[answer]]
//!     when_result = "1 failed"
//!     text = "One test fails."
//! "#)?;
//! assert_eq!(script.answers().len(), 3);
//! # Ok::<(), windlass_rehearsal::ScriptError>(())
//! ```
#![doc = include_str!("script/FORMAT.md")]

pub mod cassette;
pub mod demo;
mod fault;
mod lock;
mod script;
mod server;
mod socket_plan;
mod wire;

pub use cassette::{Cassette, RecordOptions, Recorder, Replay, ReplayOptions};
pub use fault::ScriptedFault;
pub use script::{Script, ScriptError, ScriptedAnswer, StopReason};
pub use server::{ReceivedRequest, Rehearsal, RehearsalOptions, ServerHandle, ServerStartError};
