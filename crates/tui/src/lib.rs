//! The interactive face: a conversation in a terminal, with the terminal's own history.
//!
//! Four parts, of which only the last touches anything: keys and notices change what is the case
//! ([`app`]), what is the case becomes lines ([`view`]), lines become bytes ([`painter`]), and `run`
//! carries bytes, keys and wishes between the terminal and the session. What is typed as a command is
//! understood by whoever holds the session: see [`TuiHost`].

pub mod app;
pub mod composer;
pub mod diff;
mod event_loop;
mod file_search;
pub mod fuzzy;
pub mod input;
pub mod interactive;
pub mod linear_painter;
pub mod markdown_stream;
pub mod pager;
pub mod painter;
pub mod permission_prompt;
pub mod picker;
mod screen;
pub mod slash_command_menu;
pub mod streaming_answer;
pub mod styled_line;
pub mod text;
pub mod theme;
pub mod tool_call_view;
pub mod transcript;
pub mod validated_input;
pub mod view;

pub use app::TuiSessionFacts;
pub use event_loop::{
    EarlierMessage, PromptAction, PromptActionFuture, StatusLineFacts, StatusLineFuture,
    TuiDisplayOptions, TuiHost, TuiSetup, run_picker, run_tui,
};
pub use file_search::FileNameMatches;
pub use picker::{Picker, PickerItem};
pub use slash_command_menu::SlashCommandHint;
pub use theme::Theme;
pub use validated_input::{InputFeedback, InputValidator, ValidatedInput};
