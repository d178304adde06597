//! Remote tools as ours.
//!
//! A tool of a server obeys the same trait as the built-in ones, so nothing above has to know. What
//! a server says of its tools is a claim: it decides how calls are scheduled, never whether they may
//! run.

mod outcome;
mod remote;
mod resource;
mod schema;

pub(crate) use outcome::{Caps, spilled};
pub(crate) use remote::RemoteTool;
pub(crate) use resource::{ListResources, ReadResource};
