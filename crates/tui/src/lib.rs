//! The terminal user interface: a conversation that leaves the scrollback to the terminal.
//!
//! Four parts, of which only the last does I/O: keys and notices change the state ([`app`]), the state
//! becomes lines ([`view`]), lines become bytes ([`painter`]), and `event_loop` carries bytes, keys and
//! actions between the terminal and the session. What a prompt means is decided by the [`TuiHost`].

pub mod app;
pub mod composer;
pub mod diff;
mod event_loop;
pub mod file_changes;
mod file_search;
pub mod fuzzy;
pub mod host;
pub mod input;
pub mod interactive;
pub mod linear_painter;
pub mod pager;
pub mod painter;
pub mod permission_prompt;
pub mod picker;
pub mod prompt_view;
mod raw_terminal;
pub mod screen_size;
pub mod session_facts;
pub mod setup;
pub mod slash_command_menu;
pub mod streaming_answer;
pub mod theme;
pub mod tool_call_view;
pub mod transcript;
pub mod typed_prompt;
pub mod validated_input;
pub mod view;
pub mod words;

pub use windlass_styled_text::{markdown_stream, styled_line, text};

pub use event_loop::{run_picker, run_secret_input, run_tui};
pub use file_search::FileNameMatches;
pub use host::{PromptAction, PromptActionFuture, StatusLineFacts, StatusLineFuture, TuiHost};
pub use picker::{Picker, PickerItem};
pub use screen_size::ScreenSize;
pub use session_facts::TuiSessionFacts;
pub use setup::{NotificationChannel, TuiDisplayOptions, TuiSetup};
pub use slash_command_menu::SlashCommandHint;
pub use theme::Theme;
pub use validated_input::{InputFeedback, InputValidator, ValidatedInput};
