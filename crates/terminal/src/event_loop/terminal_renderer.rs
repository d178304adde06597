//! The terminal and who draws on it: live lines, or line by line.

use std::io;

use crate::app::App;
use crate::linear_painter::LinearPainter;
use crate::pager::Pager;
use crate::painter::{Cursor, Painter};
use crate::screen::RawTerminal;
use crate::screen_size::ScreenSize;
use crate::setup::TuiDisplayOptions;
use crate::styled_line::{StyledLine, TextStyle};
use crate::theme::Theme;
use crate::{text, view};

/// A terminal that is drawn on.
#[derive(Debug)]
pub(super) struct TerminalRenderer {
    terminal: RawTerminal,
    display: TuiDisplayOptions,
    painter: Painter,
    linear: LinearPainter,
    /// What stands on the other screen.
    page: Vec<StyledLine>,
    /// The screen has another size now, or must be drawn anew.
    pub(super) needs_redraw: bool,
    size: ScreenSize,
}

impl TerminalRenderer {
    /// Takes the terminal in hand.
    pub(super) fn open(looks: TuiDisplayOptions) -> io::Result<Self> {
        let screen = RawTerminal::open(looks.is_linear)?;
        let size = RawTerminal::size();
        let painter = Painter::new(looks.theme, size.width);
        let (linear, page) = (LinearPainter::default(), Vec::new());
        Ok(Self {
            terminal: screen,
            display: looks,
            painter,
            linear,
            page,
            needs_redraw: false,
            size,
        })
    }

    /// Is everything on the screen, or on its way to whoever leafs through a page?
    pub(super) fn is_up_to_date(&self, app: &App) -> bool {
        match self.display.is_linear {
            true => app.is_scrollback_empty(),
            false => app
                .dialogs
                .pager
                .as_ref()
                .map_or_else(|| app.is_fully_shown(), Pager::is_fully_loaded),
        }
    }

    pub(super) fn size(&self) -> ScreenSize {
        self.size
    }

    pub(super) fn set_theme(&mut self, theme: Theme) {
        self.display.detects_background = false;
        self.painter.set_theme(theme);
        self.needs_redraw = true;
    }

    /// Takes the look that fits the terminal's ground.
    pub(super) fn follow_background(&mut self) -> io::Result<()> {
        self.display.detects_background = true;
        self.query_background()
    }

    /// Asks the terminal for its ground. Whenever it answers, and if it never does, all is well.
    pub(super) fn query_background(&self) -> io::Result<()> {
        let asks = self.display.detects_background && !self.display.is_linear;
        if asks { self.terminal.write("\x1b]11;?\x1b\\") } else { Ok(()) }
    }

    /// The terminal answered.
    pub(super) fn apply_background(&mut self, is_light: bool) {
        if self.display.detects_background {
            self.set_theme(if is_light { Theme::Light } else { Theme::Dark });
        }
    }

    /// Calls for attention. Nothing can be done about a terminal that is gone; keys tell of that.
    pub(super) fn notify(&self, words: &str) {
        let _ = match self.display.has_notifications && !self.display.is_linear {
            true => self.terminal.write(&format!("\x1b]9;{}\x07", text::to_one_line(words))),
            false => self.terminal.write("\x07"),
        };
    }

    /// Draws everything as it is now.
    pub(super) fn paint(&mut self, app: &mut App) -> io::Result<()> {
        if std::mem::take(&mut self.needs_redraw) {
            self.size = RawTerminal::size();
            app.size = self.size;
            self.page.clear();
            if !self.display.is_linear && app.dialogs.pager.is_none() {
                let bytes = self.painter.resize(self.size.width);
                self.terminal.write(&bytes)?;
            }
        }
        if self.display.is_linear {
            return self.paint_linear(app);
        }
        if app.dialogs.pager.is_some() {
            return self.paint_page(app);
        }
        if !self.page.is_empty() {
            self.page.clear();
            self.terminal.set_alternate_screen(false)?;
            // The width may have changed meanwhile.
            let bytes = self.painter.resize(self.size.width);
            self.terminal.write(&bytes)?;
        }
        app.draw_answer();
        let finished = app.take_scrollback(FRAME_LINES_MAX);
        let (live, cursor) = view::render_live(app);
        let bytes = self.painter.paint(&finished, &live, cursor);
        self.terminal.write(&bytes)
    }

    fn paint_page(&mut self, app: &mut App) -> io::Result<()> {
        app.load_pager();
        let Some(pager) = &app.dialogs.pager else { return Ok(()) };
        self.terminal.set_alternate_screen(true)?;
        let page = pager.render_screen(app.size.width, app.size.rows);
        let bytes = self.painter.paint_page(&self.page, &page);
        self.page = page;
        self.terminal.write(&bytes)
    }

    fn paint_linear(&mut self, app: &mut App) -> io::Result<()> {
        let mut finished = app.take_scrollback(FRAME_LINES_MAX);
        if app.dialogs.pager.take().is_some() {
            finished.extend(
                app.transcript.render(app.size.width, &app.session.facts.working_directory),
            );
        }
        let (asked, prompt) = view::render_linear(app);
        let bytes = self.linear.paint(&finished, &asked, &prompt);
        self.terminal.write(&bytes)
    }

    /// Takes the live lines away and gives the terminal back for a while.
    pub(super) fn release_terminal(&mut self) -> io::Result<()> {
        self.terminal.set_alternate_screen(false)?;
        self.page.clear();
        self.clear()?;
        self.terminal.leave_raw_mode();
        Ok(())
    }

    /// Takes the terminal in hand again.
    pub(super) fn reacquire_terminal(&mut self) -> io::Result<()> {
        self.terminal.enter_raw_mode()?;
        self.needs_redraw = true;
        Ok(())
    }

    /// Shows everything that is finished and takes the rest away.
    pub(super) fn close(&mut self, app: &mut App) -> io::Result<()> {
        if !self.display.is_linear {
            self.terminal.set_alternate_screen(false)?;
        }
        loop {
            let finished = app.take_scrollback(FRAME_LINES_MAX);
            let bytes = match self.display.is_linear {
                true => self.linear.paint(&finished, &[], ""),
                false => self.painter.paint(&finished, &[], Cursor::default()),
            };
            self.terminal.write(&bytes)?;
            if app.is_scrollback_empty() {
                break;
            }
        }
        self.clear()
    }

    /// Takes away what is drawn.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let bytes =
            if self.display.is_linear { self.linear.finish_line() } else { self.painter.clear() };
        self.terminal.write(&bytes)
    }

    /// Draws lines of nobody's: for a question before there is a session.
    pub(super) fn draw_lines(&mut self, lines: &[StyledLine], prompt: &str) -> io::Result<()> {
        let bytes = match self.display.is_linear {
            true => self.linear.paint(&[], lines, prompt),
            false => {
                let mut lines = lines.to_vec();
                lines.push(StyledLine::from_text(prompt, TextStyle::Dim));
                let row = lines.len().saturating_sub(1);
                self.painter.paint(&[], &lines, Cursor { row, column: prompt.len() })
            }
        };
        self.terminal.write(&bytes)
    }
}

/// Lines that go up in one frame; between two frames keys are looked at.
const FRAME_LINES_MAX: usize = 150;
