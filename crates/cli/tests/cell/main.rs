//! Commands that run unasked are held to what they were judged to do.
//!
//! The attacker is a program under the name of one that only reads, found first on the path: it
//! stands for every way in which a command can do more than it seems to. It tries what a cell must
//! refuse and says what worked. All of it as whoever runs the tests and, where that is root, as an
//! ordinary user too.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod attack;
mod everyday;
#[path = "../command/fixture.rs"]
#[allow(dead_code, reason = "another program's tests need the rest")]
mod fixture;
mod held_parts;
mod held_session;
mod home;
mod home_session;
mod hostile_git;
mod leave;
mod linked_secret;
mod own_git;
mod project_text;
mod project_trust;
mod sandboxed;
mod unjudged_links;
