//! Reports about a session: cost, reasons, context, rewinds. Texts and JSON; nothing is
//! printed here.

pub mod context_usage;
pub mod cost;
pub mod diff;
pub mod rewind;
pub mod server_check;
pub mod session_list;
pub mod session_report;
pub mod trust;
pub mod why;
