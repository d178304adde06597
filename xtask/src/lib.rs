//! Repository chores, as a library so that the command and the tests run the same rules.
//!
//! This crate reads the tree as text and manifests. It deliberately depends on none of the crates
//! it judges: a tree that does not compile can still be told what is untidy about it.

pub mod bench;
pub mod dist;
mod json;
pub mod loop_picture;
mod program;
pub mod reliability;
pub mod site;
pub mod texts;
pub mod tidy;
