//! May this call run? Allow with a proof, ask, or deny with a reason.
//!
//! One door, [`decide`](decide()). Order of the checks: deny rules, demands to ask, allow rules, then
//! what the mode says. A hook's opinion may make the ruling stricter, or answer a question that no
//! rule demanded; it never lifts a deny. Where nobody can be asked, a question is a denial.
//!
//! Rules are read in two senses. Allow rules are read narrowly: what is not understood is not
//! covered. Deny and ask rules are read widely: what might be meant is meant. So a mistake here
//! costs a question, not a file.
//!
//! Pure: no files, no clock. Only this crate can make a [`Granted`].

pub mod check;
pub mod command;
pub mod decide;
mod demand;
pub mod display;
mod explain;
mod glob;
pub mod granted;
mod ground;
mod held;
mod host;
mod judge;
pub mod layer;
mod mode;
pub mod path;
pub mod policy;
mod protected;
pub mod rule;
mod scope;
mod subject;
mod suggest;
pub mod world;

pub use decide::{Opinion, Ruling, circle_question, decide, decide_in, speaks_of};
pub use granted::{Granted, Question};
pub use held::{Held, runs_outside};
pub use host::names_near;
pub use policy::Policy;
pub use protected::{DIRECTORIES as PROTECTED_DIRECTORIES, FILES as PROTECTED_FILES};
pub use rule::{Hidden, Rule, RuleError, Rules};
pub use world::{Entry, VirtualTree, World};
