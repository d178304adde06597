//! Markdown and code as styled lines of a given width, whole or while they stream in. Does no I/O and
//! knows no terminal.

pub mod markdown_stream;
pub mod styled_line;
pub mod text;
