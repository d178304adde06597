//! The commands beside asking, one file each.

pub(crate) mod bound;
pub(crate) mod demo;
pub(crate) mod models;
pub(crate) mod rehearse;
