//! The engine's settings, for the one caller that configures a session.
//!
//! These types belong to the engine and change with it. Everything else (front ends above all) reads
//! [`SessionSettingsView`](crate::SessionSettingsView) and sends
//! [`SettingsChange`](crate::SettingsChange)s instead, and `cargo xtask tidy` refuses this module there.

pub use windlass_engine::bound::{Bound, bound};
pub use windlass_engine::settings::{
    After, Agent, BudgetSettings, CircleGuard, Context, FeatureSwitches, Hooks, Limits,
    PromptSettings, ReasoningSettings, RefillLimits, RetrySettings, Settings,
};
