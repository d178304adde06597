//! Decides whether a call may run: allow with a proof, ask, or deny with a reason.
//!
//! One entry point, [`decide`](decide()). Order of the checks: deny rules, reasons to ask, allow
//! rules, then the mode. A hook can make the decision stricter, or answer a question that no rule
//! requires; it never overrides a deny. If no user can answer, a question becomes a denial.
//!
//! Rules are matched in two senses. Allow rules are matched narrowly: what is not understood is not
//! covered. Deny and ask rules are matched widely: what might be meant is covered. So a mistake
//! here costs a question, not a file.
//!
//! Pure: no file access, no clock. Only this crate can create a [`PermissionGrant`].
#![warn(missing_docs)]

mod address_class;
mod ask_reason;
mod call_subject;
mod command_checker;
mod confinement;
pub mod decide;
mod explain;
mod fetch_target;
pub mod file_system_view;
mod find_ask_reason;
mod glob;
mod mode;
pub mod path_pattern;
pub mod permission_grant;
pub mod permission_layer;
pub mod policy;
pub mod policy_check;
mod prior_decision;
mod protected_paths;
pub mod rule;
mod rule_match;
mod rule_width;
mod sandbox_escape;
pub mod sanitize;
pub mod secret_paths;
pub mod shell_command;
mod suggest_rules;
mod unheld_edit;
mod workspace_roots;

pub use address_class::{AddressClass, classify_address};
pub use confinement::{CellSupport, Confinement};
pub use decide::{
    PermissionDecision, build_loop_question, decide, decide_with_file_system, look_at_paths,
    rule_matches_call,
};
pub use fetch_target::names_private_host;
pub use file_system_view::{FileSystemView, PathEntry, VirtualTree};
pub use permission_grant::{PendingPermissionQuestion, PermissionGrant};
pub use policy::{Policy, SandboxPolicy};
pub use prior_decision::PriorDecision;
pub use protected_paths::{PROTECTED_DIRECTORIES, PROTECTED_FILES};
pub use rule::{HiddenPaths, Rule, RuleError, Rules};
pub use sandbox_escape::is_excluded_from_sandbox;
