//! The front end for a browser: sessions as a page on this machine, and as files to share.
//!
//! What is shown is read off journals; with `--act` the process opens a session itself (`act`), as the
//! other front ends do. Reading order: `API.md`
//! beside this crate's manifest (the contract with the page), `server` (bytes, guard, token), `router`
//! (paths to answers), `viewer` (what is known of sessions), `view` (one file for each answer), `export`
//! (files to share).

mod act;
mod assets;
mod browser_launch;
mod bundle_scripts;
mod content_hash;
mod export;
mod markdown_nodes;
mod router;
mod server;
mod view;
mod viewer;

pub use export::{ExportFormat, ExportOptions, run_export};
pub use viewer::run::{ViewOptions, run_viewer};
