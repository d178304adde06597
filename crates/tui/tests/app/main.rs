//! The state of the terminal, driven by keys and notices.

mod call_order;
mod composer;
mod input_parser;
mod picker;
mod run_time;
mod streaming_answer;
mod vim_keys;
