//! What the loop says and asks for beside what scenarios show.
#![cfg(test)]
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a panic is how a test says no")]

mod adoption;
mod after_run;
mod bound;
mod circle;
mod engine_session;
mod inventory;
mod repair;
