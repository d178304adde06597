//! The interactive face: a conversation in a terminal, with the terminal's own history.
//!
//! Four parts, of which only the last touches anything: keys and notices change what is the case
//! ([`app`]), what is the case becomes lines ([`view`]), lines become bytes ([`painter`]), and `run`
//! carries bytes, keys and wishes between the terminal and the session. What is typed as a command is
//! understood by whoever holds the session: see [`Host`].

pub mod answer;
pub mod app;
pub mod approval;
pub mod composer;
pub mod diff;
pub mod draft;
pub mod entry;
pub mod field;
mod files;
pub mod fuzzy;
pub mod input;
pub mod line;
pub mod linear;
pub mod menu;
pub mod pager;
pub mod painter;
pub mod picker;
mod run;
mod screen;
pub mod text;
pub mod theme;
pub mod tool;
pub mod view;

pub use app::About;
pub use field::{Check, Field, Remark};
pub use files::Found;
pub use menu::Hint;
pub use picker::{Item, Picker};
pub use run::{Asked, Earlier, Facts, Host, Looks, Order, Ordering, Stage, choose, run};
pub use theme::Theme;
