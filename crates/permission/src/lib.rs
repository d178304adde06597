//! May this call run? Allow with a proof, ask, or deny with a reason.
//!
//! One door, [`decide`]. Order of the checks: deny rules, ask rules, allow rules, then what the
//! mode says. A hook's opinion may make the ruling stricter, or answer a question that no rule
//! demanded; it never lifts a deny. Where nobody can be asked, a question is a denial.
//!
//! Pure: no files, no clock. Only this crate can make a [`Granted`].

pub mod command;
pub mod decide;
pub mod granted;
pub mod path;
pub mod policy;
pub mod rule;

pub use decide::{Opinion, Ruling, circle_question, decide};
pub use granted::{Granted, Question};
pub use policy::Policy;
pub use rule::{Rule, RuleError, Rules};
