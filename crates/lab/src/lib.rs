//! Simulations of everything outside of the engine, and the properties they verify. Never shipped.
//!
//! | stand-in | proves | does not prove |
//! |---|---|---|
//! | [`scenario`] | one path exactly as written: effects, and the request the model would see | anything about other paths |
//! | [`check`] | that every reachable control state is bounded, and each member of each list is reached | that facts are read correctly off the large parts of the state |
//! | [`sim`] | that promises hold in tens of thousands of random sessions full of faults, and that each comes to rest | anything about a session nobody drew |
//! | [`long_session`] | what a turn costs after thousands of others | anything about sessions in which things go wrong |
//! | [`manual_session`] | whatever the caller asks of it: for measurements and properties | anything by itself |
//!
//! The engine in all of them is the real one; only what is around it is made up.

pub mod check;
pub mod long_session;
pub mod manual_session;
pub mod scenario;
pub mod sim;
