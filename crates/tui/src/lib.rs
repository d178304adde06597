//! The terminal user interface: a conversation that leaves the scrollback to the terminal.
//!
//! Four parts, of which only the last does I/O: keys and notices change the state ([`app`]), the state
//! becomes lines ([`view`]), lines become bytes ([`painter`]), and `event_loop` carries bytes, keys and
//! actions between the terminal and the session. What a prompt means is decided by the [`TuiHost`].

pub mod app;
pub mod composer;
mod diff;
mod event_loop;
mod file_changes;
mod file_search;
mod fuzzy;
mod host;
pub mod input;
pub mod interactive;
mod linear_painter;
mod pager;
pub mod painter;
mod permission_prompt;
pub mod picker;
mod prompt_view;
mod raw_terminal;
pub mod screen_size;
mod session_facts;
mod setup;
mod slash_command_menu;
pub mod streaming_answer;
pub mod theme;
mod tool_call_view;
mod transcript;
pub mod typed_prompt;
mod validated_input;
pub mod view;
mod words;

pub use windlass_styled_text::styled_line;
use windlass_styled_text::{markdown_stream, text};

pub use session_facts::TuiSessionFacts;

// What [`interactive`] needs of the rest.
use event_loop::{run_picker, run_secret_input, run_tui};
use host::{PromptAction, PromptActionFuture, StatusLineFacts, StatusLineFuture, TuiHost};
use picker::{Picker, PickerItem};
use setup::{NotificationChannel, TuiDisplayOptions, TuiSetup};
use slash_command_menu::SlashCommandHint;
use theme::Theme;
use validated_input::{InputFeedback, InputValidator, ValidatedInput};
