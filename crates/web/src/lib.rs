//! The browser front end: shows sessions on a page served on this machine, and exports them as
//! files.
//!
//! Sessions are shown from their journals; with `--act` the process opens a session itself (`act`),
//! like other front ends. Reading order: `API.md` next to this crate's manifest (the contract with
//! the page), `server` (HTTP, guard, token), `router` (paths to responses), `viewer` (the known
//! sessions), `view` (one file per response), `export` (files to share).

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
