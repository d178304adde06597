//! Settings files: which are read, what they say together, and what of it the user trusted.
//!
//! One door, [`load`]: places in, [`Loaded`] out. Layers from low to high are the user's, the
//! project's, the machine's own of the project, the command line's, and the administrator's. A value
//! of the highest layer counts; objects are merged key by key; lists add up. Where each value came
//! from is kept.
//!
//! Two things are never given up. What a project brings along may forbid before the user trusted it,
//! and nothing else: [`Trust`] says what was left out and takes the user's yes. And a file that cannot
//! be read loosens nothing: as its deny rules are not known, everything asks until it is mended.
//!
//! Hooks and servers are handed on as they are written, with the layer they come from: what they mean
//! is known to those who run them. Nothing is run here.

mod digest;
mod disk;
mod file;
mod keep;
mod key;
mod layered;
mod load;
mod loaded;
mod merge;
mod place;
mod problem;
mod prune;
mod rules;
#[cfg(test)]
mod schema;
mod server;
pub mod settings;
mod text;
pub mod trust;
mod watch;
mod write;

pub use keep::{ServerShelf, keep_server, keep_setting};
pub use load::load;
pub use loaded::{FileRead, Loaded, Sourced, State};
pub use place::{Given, Places, Request, Sources};
pub use problem::{Place, Problem, Severity};
pub use rules::{
    RuleChange, WrittenRule, add_rule, remember, remove_rule, rule_file, written_rules,
};
pub use settings::Settings;
pub use trust::{Trust, TrustState, Withheld};
pub use watch::{FileChanged, Watch};
pub use windlass_permission::layer::Source;
pub use write::{RuleList, WriteError, append_rules};
