//! The built-in tools and the one trait every tool obeys.
//!
//! Reading order: [`tool`] (the trait and what a call is given), [`surroundings`] (what calls of a
//! session share), [`registry`] (name to tool), then the tools themselves. Nothing here decides
//! whether a call may run: `run` takes a proof that it may.

mod action;
pub mod aside;
mod background;
mod bash;
mod edit;
pub mod environment;
mod file;
pub mod frontmatter;
pub mod git;
mod glob;
mod grep;
pub mod input;
pub mod lists;
mod notebook;
mod output;
pub mod own;
mod pdf;
pub mod picture;
mod plan;
mod process;
mod question;
mod read;
pub mod registry;
mod search;
pub mod secrets;
mod skill;
mod skills;
mod source;
pub mod surroundings;
pub mod tool;
mod walk;
mod web;
pub mod worktree;
mod write;

pub use background::{Background, BackgroundEnd, BackgroundTask, Beside, Waiting};
pub use file::{FileChange, Keeper, Keeping, line_counts};
pub use git::{Git, GitEnd, GitFailure};
pub use lists::Lists;
pub use picture::{Fitted, PictureLimits, fit};
pub use process::errand::{Errand, ErrandCause, ErrandEnd, Written};
pub use process::{Lasting, LastingProgram, Launch, LaunchEnd, Launcher, Prepared, Start};
pub use registry::Registry;
pub use secrets::Secrets;
pub use skills::{SkillPage, skills};
pub use source::Source;
pub use surroundings::{Limits, Surroundings};
pub use tool::{Bill, Job, Progress, Running, Terms, Tool};
pub use web::Network;
