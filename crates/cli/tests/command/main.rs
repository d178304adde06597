//! The real binary against the rehearsal server, over real sockets, with real signals. One
//! program, because linking is what takes time.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod acp;
mod acp_client;
mod acp_files;
mod acp_updates;
mod action;
mod after;
mod after_a_kill;
mod ask;
mod available;
mod bad_input;
mod bound;
mod cassette;
mod changed_files;
mod cleanup;
mod collector;
mod completions;
mod config;
mod context;
mod control;
mod conversation;
mod defer;
mod demo;
mod doctor;
mod driven;
mod expansion;
mod fault;
mod fixture;
mod flags;
mod foreign_sessions;
mod fork_and_pack;
mod headless;
mod hook_outputs;
mod hooks;
mod host_sleep;
mod key;
#[cfg(target_os = "linux")]
mod keyring;
mod keys;
mod keys_in_snapshots;
mod killed_sessions;
mod leaving;
mod live;
mod liveness;
mod local;
#[cfg(target_os = "linux")]
mod login;
mod many_prompts;
mod memory;
mod model;
mod models;
mod older_session;
mod orphan;
mod outputs;
mod parallel_processes;
mod partial_messages;
mod permission;
mod pieces;
mod policy;
mod race;
mod random_sessions;
mod readme;
mod recorded_session;
mod rehearse;
mod remote;
mod requests;
mod rewind;
mod secrets;
mod serve;
mod server;
mod session;
#[cfg(target_os = "linux")]
mod session_bus;
mod sessions;
mod settings;
mod signal;
mod slow_servers;
mod snapshot_space;
mod snapshots;
mod telemetry;
mod telemetry_setup;
mod terminal;
mod time;
mod tls_server;
mod tool_selection;
mod tour;
mod transcript;
mod trial;
#[cfg(target_os = "linux")]
mod two_interrupts;
mod update;
mod variable_effects;
mod variables;
mod view;
mod view_export;
mod view_requests;
mod work_files;
mod workspace_faults;
mod workspace_races;
mod worktree;
