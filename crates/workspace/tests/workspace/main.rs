//! The workspace against real folders: what a snapshot holds, what going back does, and what the
//! faults W1 to W33 leave behind. Tests are named after their rows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod copy_and_pack;
mod fixture;
mod full_disk;
mod git_state;
mod hostile_pack;
mod hostile_repository;
mod kill;
mod look;
mod overlay;
mod packs;
mod random_trees;
mod restore;
mod store;
