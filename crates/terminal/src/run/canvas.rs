//! The terminal and who draws on it: live lines, or line by line.

use std::io;

use crate::app::App;
use crate::line::{Line, Role};
use crate::linear::Linear;
use crate::pager::Pager;
use crate::painter::{Cursor, Painter};
use crate::run::Looks;
use crate::screen::Screen;
use crate::theme::Theme;
use crate::{text, view};

/// A terminal that is drawn on.
#[derive(Debug)]
pub(super) struct Canvas {
    screen: Screen,
    looks: Looks,
    painter: Painter,
    linear: Linear,
    /// What stands on the other screen.
    page: Vec<Line>,
    /// The screen has another size now, or must be drawn anew.
    pub(super) is_resized: bool,
    size: (usize, usize),
}

impl Canvas {
    /// Takes the terminal in hand.
    pub(super) fn open(looks: Looks) -> io::Result<Self> {
        let screen = Screen::open(looks.is_linear)?;
        let size = Screen::size();
        let painter = Painter::new(looks.theme, size.0);
        let (linear, page) = (Linear::default(), Vec::new());
        Ok(Self { screen, looks, painter, linear, page, is_resized: false, size })
    }

    /// Is everything on the screen, or on its way to whoever leafs through a page?
    pub(super) fn has_shown(&self, app: &App) -> bool {
        match self.looks.is_linear {
            true => app.is_said(),
            false => app.pager.as_ref().map_or_else(|| app.is_shown(), Pager::is_whole),
        }
    }

    pub(super) fn size(&self) -> (usize, usize) {
        self.size
    }

    pub(super) fn theme(&mut self, theme: Theme) {
        self.looks.asks_ground = false;
        self.painter.set_theme(theme);
        self.is_resized = true;
    }

    /// Takes the look that fits the terminal's ground.
    pub(super) fn fit_ground(&mut self) -> io::Result<()> {
        self.looks.asks_ground = true;
        self.ask_ground()
    }

    /// Asks the terminal for its ground. Whenever it answers, and if it never does, all is well.
    pub(super) fn ask_ground(&self) -> io::Result<()> {
        let asks = self.looks.asks_ground && !self.looks.is_linear;
        if asks { self.screen.write("\x1b]11;?\x1b\\") } else { Ok(()) }
    }

    /// The terminal answered.
    pub(super) fn ground(&mut self, is_light: bool) {
        if self.looks.asks_ground {
            self.theme(if is_light { Theme::Light } else { Theme::Dark });
        }
    }

    /// Calls for attention. Nothing can be done about a terminal that is gone; keys tell of that.
    pub(super) fn call(&self, words: &str) {
        let _ = match self.looks.has_messages && !self.looks.is_linear {
            true => self.screen.write(&format!("\x1b]9;{}\x07", text::one_line(words))),
            false => self.screen.write("\x07"),
        };
    }

    /// Draws everything as it is now.
    pub(super) fn paint(&mut self, app: &mut App) -> io::Result<()> {
        if std::mem::take(&mut self.is_resized) {
            self.size = Screen::size();
            (app.width, app.rows) = self.size;
            self.page.clear();
            if !self.looks.is_linear && app.pager.is_none() {
                let bytes = self.painter.resize(self.size.0);
                self.screen.write(&bytes)?;
            }
        }
        if self.looks.is_linear {
            return self.paint_linear(app);
        }
        if app.pager.is_some() {
            return self.paint_page(app);
        }
        if !self.page.is_empty() {
            self.page.clear();
            self.screen.aside(false)?;
            // The width may have changed meanwhile.
            let bytes = self.painter.resize(self.size.0);
            self.screen.write(&bytes)?;
        }
        app.settle();
        let finished = app.take_finished(LINES_MAX);
        let (live, cursor) = view::live(app);
        let bytes = self.painter.paint(&finished, &live, cursor);
        self.screen.write(&bytes)
    }

    fn paint_page(&mut self, app: &mut App) -> io::Result<()> {
        app.leaf();
        let Some(pager) = &app.pager else { return Ok(()) };
        self.screen.aside(true)?;
        let page = pager.screen(app.width, app.rows);
        let bytes = self.painter.page(&self.page, &page);
        self.page = page;
        self.screen.write(&bytes)
    }

    fn paint_linear(&mut self, app: &mut App) -> io::Result<()> {
        let mut finished = app.take_finished(LINES_MAX);
        if app.pager.take().is_some() {
            finished.extend(app.entries.lines(app.width, &app.about.folder));
        }
        let (asked, prompt) = view::linear(app);
        let bytes = self.linear.paint(&finished, &asked, &prompt);
        self.screen.write(&bytes)
    }

    /// Takes the live lines away and gives the terminal back for a while.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        self.screen.aside(false)?;
        self.page.clear();
        self.clear()?;
        self.screen.leave();
        Ok(())
    }

    /// Takes the terminal in hand again.
    pub(super) fn take(&mut self) -> io::Result<()> {
        self.screen.take()?;
        self.is_resized = true;
        Ok(())
    }

    /// Shows everything that is finished and takes the rest away.
    pub(super) fn close(&mut self, app: &mut App) -> io::Result<()> {
        if !self.looks.is_linear {
            self.screen.aside(false)?;
        }
        loop {
            let finished = app.take_finished(LINES_MAX);
            let bytes = match self.looks.is_linear {
                true => self.linear.paint(&finished, &[], ""),
                false => self.painter.paint(&finished, &[], Cursor::default()),
            };
            self.screen.write(&bytes)?;
            if app.is_said() {
                break;
            }
        }
        self.clear()
    }

    /// Takes away what is drawn.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let bytes = if self.looks.is_linear { self.linear.end() } else { self.painter.clear() };
        self.screen.write(&bytes)
    }

    /// Draws lines of nobody's: for a question before there is a session.
    pub(super) fn draw(&mut self, lines: &[Line], prompt: &str) -> io::Result<()> {
        let bytes = match self.looks.is_linear {
            true => self.linear.paint(&[], lines, prompt),
            false => {
                let mut lines = lines.to_vec();
                lines.push(Line::of(prompt, Role::Quiet));
                let row = lines.len().saturating_sub(1);
                self.painter.paint(&[], &lines, Cursor { row, column: prompt.len() })
            }
        };
        self.screen.write(&bytes)
    }
}

/// Lines that go up in one frame; between two frames keys are looked at.
const LINES_MAX: usize = 150;
