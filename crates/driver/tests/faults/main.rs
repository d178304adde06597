//! Every fault of a model server that Windlass knows of, over real sockets: what is kept, what
//! people are told, and where the loop goes. Test names begin with the row of the fault matrix.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod answer;
mod call;
mod cut;
mod everywhere;
#[path = "../fixture/mod.rs"]
mod fixture;
mod framing;
mod handover;
mod http2;
mod network;
mod refused;
mod reply;
mod stream;
mod summary;
mod usage;
mod waiting;
mod words;
