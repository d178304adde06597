//! What the loop does in each phase: one file per phase, named as in
//! [`Phase`](crate::control::Phase). Each adds its methods to the step under way.

mod attaching;
mod compacting;
mod errand;
mod preparing;
mod running_tools;
mod stopping;
mod streaming;
mod submitting;
mod waiting;
