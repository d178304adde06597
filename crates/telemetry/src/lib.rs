//! Metrics, events and spans of sessions, sent to a collector that the user configures.
//!
//! [`observer`] observes sessions; `tracker` turns observations into records; `queue` is bounded;
//! `exporter` sends records on its own thread; `wire` encodes them as OTLP. Names and variables are
//! those of the reference CLI, so that its dashboards keep working. When telemetry is off, none of
//! this runs.

mod config;
mod content;
mod exporter;
mod metric_table;
mod names;
mod observer;
mod prometheus;
mod propagation;
mod queue;
mod record;
mod standard_attributes;
mod trace_parent;
mod tracker;
mod wire;
mod wiring_report;

pub use config::{ProcessFacts, TelemetryConfig, read_config};
pub use observer::TelemetryObserver;
pub use wiring_report::{ExpandedCommand, LoadedPlugin, RegisteredHook, WiringReport};
