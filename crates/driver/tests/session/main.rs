//! Sessions against a rehearsed model server, over real sockets and with real processes. One
//! program, because linking is what takes time.

mod conversation;
mod fault;
mod interrupt;
mod journal;
mod stage;
mod tool;
