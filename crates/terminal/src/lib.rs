//! The interactive face: a conversation in a terminal, with the terminal's own history.
//!
//! Four parts, of which only the last touches anything: keys and notices change what is the case
//! ([`app`]), what is the case becomes lines ([`view`]), lines become bytes ([`painter`]), and `run`
//! carries bytes, keys and wishes between the terminal and the session. What is typed as a command is
//! understood by whoever holds the session: see [`Host`].

pub mod app;
pub mod approval;
pub mod composer;
pub mod key;
pub mod line;
pub mod menu;
pub mod painter;
mod run;
mod screen;
pub mod text;
pub mod theme;
pub mod tool;
pub mod view;

pub use app::About;
pub use menu::Hint;
pub use run::{Host, Order, Ordering, Stage, run};
pub use theme::Theme;
