//! The workspace on real folders: snapshots, restores, and recovery from the faults W1 to W33.
//! Tests are named after their rows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod copy_and_pack;
mod file_systems;
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
