//! Where a run is shown: colours, width, and a cursor that may go back on a terminal.
//!
//! Colours and moves are used only where they mean something: not into a pipe, not on a dumb
//! terminal, no colours under `NO_COLOR`. Everything written is free of control characters of
//! others.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use super::super::harmless;
use super::super::output::{Closed, Output, Target};
use super::wrap::Wrap;
use crate::refusal::one_line;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// The answer.
    Plain,
    /// A title.
    Strong,
    /// Beside the point.
    Dim,
    /// Something that went wrong.
    Warning,
    /// A line that came, or a test that passes.
    Added,
    /// A line that went, or a test that fails.
    Removed,
    /// Taken back.
    Void,
}

/// Standard output with a cursor.
#[derive(Debug)]
pub(crate) struct Screen {
    output: Output,
    is_live: bool,
    has_colours: bool,
    width: usize,
    stream: Option<(Style, Wrap)>,
    /// The last thing printed was a blank line, or nothing at all.
    is_apart: bool,
    /// The last thing printed was a heading.
    is_headed: bool,
}

impl Screen {
    /// What standard output is good for.
    pub(crate) fn of_stdout(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
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
            output: Output::new(Target::Stdout),
            is_live,
            has_colours: (is_live || is_forced) && !is_set("NO_COLOR"),
            // The last column stays free: some terminals break the line when it is filled.
            width: width - 1,
            stream: None,
            is_apart: true,
            is_headed: false,
        }
    }

    /// May the cursor go back?
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Characters in a line.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A line of its own, wrapped at words.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> Result<(), Closed> {
        self.end_stream()?;
        let mut wrap = Wrap::new(self.width);
        let wrapped = wrap.push(&harmless(text)) + &wrap.finish();
        for line in wrapped.split('\n') {
            let line = self.painted(style, line);
            self.output.write(format!("{line}\n"))?;
        }
        self.is_apart = text.is_empty();
        Ok(())
    }

    /// A line apart from what stands before it.
    pub(crate) fn aside(&mut self, style: Style, text: &str) -> Result<(), Closed> {
        self.end_stream()?;
        self.set_apart()?;
        self.line(style, text)
    }

    /// A tool that starts. Tools that start together stand together.
    pub(crate) fn heading(&mut self, text: &str) -> Result<(), Closed> {
        self.end_stream()?;
        if !self.is_headed {
            self.set_apart()?;
        }
        let mark = self.painted(Style::Added, "●");
        let text = self.painted(Style::Strong, &one_line(text));
        self.is_apart = false;
        self.is_headed = true;
        self.output.write(format!("{mark} {text}\n"))
    }

    /// A line below a heading.
    pub(crate) fn indented(&mut self, style: Style, text: &str) -> Result<(), Closed> {
        let text = harmless(text).replace('\t', "    ");
        let text: String = text.chars().take(self.width.saturating_sub(4)).collect();
        let rule = self.painted(Style::Dim, "│");
        let text = self.painted(style, &text);
        self.is_apart = false;
        self.is_headed = false;
        self.output.write(format!("  {rule} {text}\n"))
    }

    /// A piece of text that goes on.
    pub(crate) fn stream(&mut self, style: Style, piece: &str) -> Result<(), Closed> {
        if self.stream.as_ref().is_some_and(|(now, _)| *now != style) {
            self.end_stream()?;
        }
        let mut mark = "";
        if self.stream.is_none() {
            self.set_apart()?;
            if style == Style::Dim {
                mark = THINKING;
            }
        }
        let width = self.width;
        let (_, wrap) = self.stream.get_or_insert_with(|| (style, Wrap::new(width)));
        let shown = wrap.push(mark) + &wrap.push(&harmless(piece));
        self.show(style, &shown)
    }

    /// The text is whole.
    pub(crate) fn end_stream(&mut self) -> Result<(), Closed> {
        let Some((style, mut wrap)) = self.stream.take() else {
            return Ok(());
        };
        let rest = wrap.finish();
        self.is_apart = false;
        if self.is_live {
            self.show(style, &rest)?;
            return self.output.write("\n");
        }
        let text = self.painted(style, &wrap.shown);
        self.output.write(format!("{text}\n"))
    }

    /// What was streamed is void: shown struck out, or in words.
    pub(crate) fn retract(&mut self, why: &str) -> Result<(), Closed> {
        if let Some((_, mut wrap)) = self.stream.take() {
            let rows = wrap.rows;
            wrap.finish();
            let shown = self.painted(Style::Void, &format!("{} …", wrap.shown));
            let erased = match (self.is_live, rows) {
                (false, _) => String::new(),
                (true, 0) => "\r\x1b[J".to_owned(),
                (true, rows) => format!("\r\x1b[{rows}A\x1b[J"),
            };
            self.output.write(format!("{erased}{shown}\n"))?;
        }
        // The innermost cause is for those who mend networks.
        let why = one_line(why.split(": ").next().unwrap_or(why));
        let line = format!("✗ the answer broke off, {why}; the text above is void");
        self.line(Style::Warning, &line)
    }

    /// Begins a line that is written again and again.
    pub(crate) fn begin_status(&mut self) -> Result<(), Closed> {
        self.end_stream()?;
        self.set_apart()
    }

    /// Writes that line.
    pub(crate) fn status(&mut self, text: &str) -> Result<(), Closed> {
        let text: String = text.chars().take(self.width).collect();
        let text = self.painted(Style::Warning, &text);
        self.is_apart = false;
        self.output.write(format!("\r\x1b[2K{text}"))
    }

    /// Leaves that line as it is.
    pub(crate) fn end_status(&mut self) -> Result<(), Closed> {
        self.output.write("\n")
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(&mut self) {
        self.output.finish().await;
    }

    /// On a terminal at once; elsewhere when the text is whole and cannot be taken back.
    fn show(&mut self, style: Style, text: &str) -> Result<(), Closed> {
        if !self.is_live || text.is_empty() {
            return Ok(());
        }
        let text = self.painted(style, text);
        self.output.write(text)
    }

    fn set_apart(&mut self) -> Result<(), Closed> {
        self.is_headed = false;
        if self.is_apart {
            return Ok(());
        }
        self.is_apart = true;
        self.output.write("\n")
    }

    fn painted(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Dim => "2",
            Style::Warning => "33",
            Style::Added => "32",
            Style::Removed => "31",
            Style::Void => "2;9",
        };
        if !self.has_colours || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

const WIDTH_MAX: usize = 100;
/// Reasoning is marked as such where there are no colours to tell it apart.
const THINKING: &str = "(thinking) ";
