//! Metrics, events and spans of sessions, sent to a collector that the user configures.
//!
//! [`observer`] observes sessions; `tracker` turns observations into records; `queue` is bounded;
//! `exporter` sends records on its own thread; `wire` encodes them as OTLP. Names and variables are
//! those of the reference CLI, so that its dashboards keep working. When telemetry is off, none of
//! this runs.

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
mod wiring_report;

pub use config::{ProcessFacts, TelemetryConfig, read_config};
pub use observer::TelemetryObserver;
pub use wiring_report::{ExpandedCommand, LoadedPlugin, RegisteredHook, WiringReport};
