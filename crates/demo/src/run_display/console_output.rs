//! Standard output of a run: colours, width, and cursor movement on a terminal.
//!
//! No escape sequences into a pipe or on a dumb terminal, no colours under `NO_COLOR`. Control
//! characters in text of the model or of tools are stripped.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use super::word_wrapper::WordWrapper;
use windlass_host::command_error::to_single_line;
use windlass_host::display::strip_control_characters;
use windlass_stream_json::output_writer::{OutputClosed, OutputTarget, OutputWriter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleStyle {
    Plain,
    Strong,
    Dim,
    Warning,
    /// An added line, or a test that passes.
    Added,
    /// A removed line, or a test that fails.
    Removed,
    /// Streamed text that is void because its answer broke off.
    Retracted,
}

#[derive(Debug)]
pub(crate) struct ConsoleOutput {
    output: OutputWriter,
    is_live: bool,
    has_colours: bool,
    width: usize,
    stream: Option<(ConsoleStyle, WordWrapper)>,
    /// The last thing printed was a blank line, or nothing at all.
    ends_with_blank_line: bool,
    ends_with_heading: bool,
}

impl ConsoleOutput {
    pub(crate) fn for_stdout(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
        let is_dumb = lookup("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let is_live = io::stdout().is_terminal() && !is_dumb;
        let is_forced =
            lookup("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col);
        let width = match (is_live, usize::from(columns)) {
            (true, columns @ 20..) => columns.min(WIDTH_MAX),
            _ => WIDTH_MAX,
        };
        Self {
            output: OutputWriter::new(OutputTarget::Stdout),
            is_live,
            has_colours: (is_live || is_forced) && !is_set("NO_COLOR"),
            // The last column stays free: some terminals break the line when it is filled.
            width: width - 1,
            stream: None,
            ends_with_blank_line: true,
            ends_with_heading: false,
        }
    }

    /// Whether the cursor can be moved.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Ends streamed text, and wraps the line at words.
    pub(crate) fn write_line(
        &mut self,
        style: ConsoleStyle,
        text: &str,
    ) -> Result<(), OutputClosed> {
        self.end_stream()?;
        let mut wrap = WordWrapper::new(self.width);
        let wrapped = wrap.push(&strip_control_characters(text)) + &wrap.finish();
        for line in wrapped.split('\n') {
            let line = self.paint(style, line);
            self.output.write(format!("{line}\n"))?;
        }
        self.ends_with_blank_line = text.is_empty();
        Ok(())
    }

    /// A line after a blank line.
    pub(crate) fn write_separate_line(
        &mut self,
        style: ConsoleStyle,
        text: &str,
    ) -> Result<(), OutputClosed> {
        self.end_stream()?;
        self.ensure_blank_line()?;
        self.write_line(style, text)
    }

    /// The line of a tool that starts. No blank line between tools that start together.
    pub(crate) fn write_heading(&mut self, text: &str) -> Result<(), OutputClosed> {
        self.end_stream()?;
        if !self.ends_with_heading {
            self.ensure_blank_line()?;
        }
        let mark = self.paint(ConsoleStyle::Added, "●");
        let text = self.paint(ConsoleStyle::Strong, &to_single_line(text));
        self.ends_with_blank_line = false;
        self.ends_with_heading = true;
        self.output.write(format!("{mark} {text}\n"))
    }

    /// A line below a heading.
    pub(crate) fn write_indented(
        &mut self,
        style: ConsoleStyle,
        text: &str,
    ) -> Result<(), OutputClosed> {
        let text = strip_control_characters(text).replace('\t', "    ");
        let text: String = text.chars().take(self.width.saturating_sub(4)).collect();
        let rule = self.paint(ConsoleStyle::Dim, "│");
        let text = self.paint(style, &text);
        self.ends_with_blank_line = false;
        self.ends_with_heading = false;
        self.output.write(format!("  {rule} {text}\n"))
    }

    pub(crate) fn stream_text(
        &mut self,
        style: ConsoleStyle,
        chunk: &str,
    ) -> Result<(), OutputClosed> {
        if self.stream.as_ref().is_some_and(|(current, _)| *current != style) {
            self.end_stream()?;
        }
        let mut mark = "";
        if self.stream.is_none() {
            self.ensure_blank_line()?;
            if style == ConsoleStyle::Dim {
                mark = THINKING_MARK;
            }
        }
        let width = self.width;
        let (_, wrap) = self.stream.get_or_insert_with(|| (style, WordWrapper::new(width)));
        let shown = wrap.push(mark) + &wrap.push(&strip_control_characters(chunk));
        self.write_live(style, &shown)
    }

    pub(crate) fn end_stream(&mut self) -> Result<(), OutputClosed> {
        let Some((style, mut wrap)) = self.stream.take() else {
            return Ok(());
        };
        let rest = wrap.finish();
        self.ends_with_blank_line = false;
        if self.is_live {
            self.write_live(style, &rest)?;
            return self.output.write("\n");
        }
        let text = self.paint(style, &wrap.shown);
        self.output.write(format!("{text}\n"))
    }

    /// Marks streamed text as void: struck out on a terminal, and in words.
    pub(crate) fn retract(&mut self, why: &str) -> Result<(), OutputClosed> {
        if let Some((_, mut wrap)) = self.stream.take() {
            let rows = wrap.rows;
            wrap.finish();
            let shown = self.paint(ConsoleStyle::Retracted, &format!("{} …", wrap.shown));
            let erased = match (self.is_live, rows) {
                (false, _) => String::new(),
                (true, 0) => "\r\x1b[J".to_owned(),
                (true, rows) => format!("\r\x1b[{rows}A\x1b[J"),
            };
            self.output.write(format!("{erased}{shown}\n"))?;
        }
        // The outermost cause is enough; the rest is detail of the network stack.
        let why = to_single_line(why.split(": ").next().unwrap_or(why));
        let line = format!("✗ the answer broke off, {why}; the text above is discarded");
        self.write_line(ConsoleStyle::Warning, &line)
    }

    /// Begins a line that `write_status` overwrites.
    pub(crate) fn begin_status(&mut self) -> Result<(), OutputClosed> {
        self.end_stream()?;
        self.ensure_blank_line()
    }

    pub(crate) fn write_status(&mut self, text: &str) -> Result<(), OutputClosed> {
        let text: String = text.chars().take(self.width).collect();
        let text = self.paint(ConsoleStyle::Warning, &text);
        self.ends_with_blank_line = false;
        self.output.write(format!("\r\x1b[2K{text}"))
    }

    pub(crate) fn end_status(&mut self) -> Result<(), OutputClosed> {
        self.output.write("\n")
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(&mut self) {
        self.output.finish().await;
    }

    /// Without a terminal text is written when it is complete, because it could not be retracted.
    fn write_live(&mut self, style: ConsoleStyle, text: &str) -> Result<(), OutputClosed> {
        if !self.is_live || text.is_empty() {
            return Ok(());
        }
        let text = self.paint(style, text);
        self.output.write(text)
    }

    fn ensure_blank_line(&mut self) -> Result<(), OutputClosed> {
        self.ends_with_heading = false;
        if self.ends_with_blank_line {
            return Ok(());
        }
        self.ends_with_blank_line = true;
        self.output.write("\n")
    }

    fn paint(&self, style: ConsoleStyle, text: &str) -> String {
        let code = match style {
            ConsoleStyle::Plain => "",
            ConsoleStyle::Strong => "1",
            ConsoleStyle::Dim => "2",
            ConsoleStyle::Warning => "33",
            ConsoleStyle::Added => "32",
            ConsoleStyle::Removed => "31",
            ConsoleStyle::Retracted => "2;9",
        };
        if !self.has_colours || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

const WIDTH_MAX: usize = 100;
/// Marks reasoning where no colours set it apart.
const THINKING_MARK: &str = "(thinking) ";
