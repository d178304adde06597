//! Programs that try to get out, on both backends, as root and as nobody, observed from outside.
//!
//! Each attack is first run free, where it must do its harm; otherwise it would prove nothing. It
//! is then run in the sandbox, where the same observer must see none.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bounds;
mod calls;
mod choice;
mod creation;
mod embedded;
mod files;
mod git;
mod host;
mod nested_repository;
mod network;
mod ordinary;
mod sandbox_fixture;
