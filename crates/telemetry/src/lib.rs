//! Metrics, events and spans of sessions, sent to a collector that the user names.
//!
//! [`observer`] watches sessions; `tracker` turns what they do into records; `queue` holds them within a
//! bound; `exporter` sends them from a thread of its own; `wire` writes them as OTLP. Names and variables
//! are those of the reference CLI, so that its charts keep working. When telemetry is off, nothing of this
//! runs.

pub mod config;
pub mod content;
mod exporter;
pub mod metric_table;
pub mod names;
pub mod observer;
mod prometheus;
mod propagation;
mod queue;
pub mod record;
mod standard_attributes;
pub mod trace_parent;
mod tracker;
pub mod wire;

pub use config::{ProcessFacts, TelemetryConfig, read_config};
pub use observer::TelemetryObserver;
