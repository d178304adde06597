//! Paints the state of the TUI on the terminal: with live lines, or line by line.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::terminal_title::TerminalTitle;
use crate::app::App;
use crate::linear_painter::LinearPainter;
use crate::painter::{Cursor, FRAME_BEGIN, Painter};
use crate::raw_terminal::RawTerminal;
use crate::screen_size::ScreenSize;
use crate::setup::{NotificationChannel, TuiDisplayOptions};
use crate::styled_line::{StyledLine, TextStyle};
use crate::theme::Theme;
use crate::{text, view};

#[derive(Debug)]
pub(super) struct TerminalRenderer {
    terminal: RawTerminal,
    painting: ActivePainter,
    detects_background: bool,
    notification: NotificationChannel,
    title: TerminalTitle,
    /// Set when the size has changed, or the screen must be drawn from scratch.
    pub(super) needs_redraw: bool,
    size: ScreenSize,
}

#[derive(Debug)]
enum ActivePainter {
    Live {
        painter: Painter,
        /// What is shown on the alternate screen.
        page: Vec<StyledLine>,
    },
    Linear(LinearPainter),
}

impl TerminalRenderer {
    pub(super) fn open(display: TuiDisplayOptions) -> io::Result<Self> {
        let terminal = RawTerminal::open(display.is_linear)?;
        let size = RawTerminal::size();
        let painting = match display.is_linear {
            true => ActivePainter::Linear(LinearPainter::default()),
            false => {
                let painter = Painter::new(display.theme, size.width);
                ActivePainter::Live { painter, page: Vec::new() }
            }
        };
        Ok(Self {
            terminal,
            painting,
            detects_background: display.detects_background,
            // A notification is an escape sequence, which linear painting must not write.
            notification: match (display.is_linear, display.notification) {
                (true, NotificationChannel::Osc9 | NotificationChannel::Osc777) => {
                    NotificationChannel::Bell
                }
                (_, channel) => channel,
            },
            title: TerminalTitle::new(display.has_title),
            needs_redraw: false,
            size,
        })
    }

    /// Does written text never change again?
    pub(super) fn is_linear(&self) -> bool {
        matches!(self.painting, ActivePainter::Linear(_))
    }

    /// Is everything painted, so that no frame is due?
    pub(super) fn is_up_to_date(&self, app: &App) -> bool {
        match (&self.painting, &app.dialogs.pager) {
            (ActivePainter::Linear(_), _) => app.is_scrollback_empty(),
            (ActivePainter::Live { .. }, Some(pager)) => pager.is_fully_loaded(),
            (ActivePainter::Live { .. }, None) => app.is_fully_shown(),
        }
    }

    pub(super) fn size(&self) -> ScreenSize {
        self.size
    }

    pub(super) fn set_theme(&mut self, theme: Theme) {
        self.detects_background = false;
        if let ActivePainter::Live { painter, .. } = &mut self.painting {
            painter.set_theme(theme);
        }
        self.needs_redraw = true;
    }

    /// Chooses the theme by the background of the terminal, once it answers.
    pub(super) fn follow_background(&mut self) -> io::Result<()> {
        self.detects_background = true;
        self.query_background()
    }

    /// Asks the terminal for its background colour. The answer may come late or never.
    pub(super) fn query_background(&self) -> io::Result<()> {
        match &self.painting {
            ActivePainter::Live { .. } if self.detects_background => {
                self.terminal.write("\x1b]11;?\x1b\\")
            }
            ActivePainter::Live { .. } | ActivePainter::Linear(_) => Ok(()),
        }
    }

    /// Handles the terminal's answer.
    pub(super) fn apply_background(&mut self, is_light: bool) {
        if self.detects_background {
            self.set_theme(if is_light { Theme::Light } else { Theme::Dark });
        }
    }

    /// Errors are ignored: if the terminal was closed, the key reader reports it.
    pub(super) fn notify(&self, words: &str) {
        let words = text::to_one_line(words);
        let _ = match self.notification {
            NotificationChannel::Off => Ok(()),
            NotificationChannel::Bell => self.terminal.write("\x07"),
            NotificationChannel::Osc9 => self.terminal.write(&format!("\x1b]9;{words}\x07")),
            NotificationChannel::Osc777 => {
                self.terminal.write(&format!("\x1b]777;notify;Windlass;{words}\x07"))
            }
        };
    }

    /// Asks the terminal to put a text on the clipboard (OSC 52). Returns whether it could be asked.
    pub(super) fn copy_to_clipboard(&self, text: &str) -> bool {
        match &self.painting {
            ActivePainter::Live { .. } if text.len() <= COPY_BYTES_MAX => {
                let encoded = BASE64_STANDARD.encode(text);
                self.terminal.write(&format!("\x1b]52;c;{encoded}\x07")).is_ok()
            }
            ActivePainter::Live { .. } | ActivePainter::Linear(_) => false,
        }
    }

    pub(super) fn paint(&mut self, app: &mut App) -> io::Result<()> {
        self.terminal.write(&self.title.update(app))?;
        let is_resized = std::mem::take(&mut self.needs_redraw);
        if is_resized {
            self.size = RawTerminal::size();
            app.size = self.size;
        }
        match &mut self.painting {
            ActivePainter::Linear(linear) => {
                let bytes = paint_linear(linear, app);
                self.terminal.write(&bytes)
            }
            ActivePainter::Live { painter, page } => {
                if app.dialogs.pager.is_some() {
                    if is_resized {
                        page.clear();
                    }
                    return paint_page(&self.terminal, painter, page, app);
                }
                if is_resized || !page.is_empty() {
                    // The live lines are erased here, and come with the same frame again. The width
                    // may have changed while the pager was open.
                    self.terminal.write(FRAME_BEGIN)?;
                    page.clear();
                    self.terminal.set_alternate_screen(false)?;
                    self.terminal.write(&painter.resize(self.size.width))?;
                }
                app.draw_answer();
                let finished = app.take_scrollback(FRAME_LINES_MAX);
                let (live, cursor) = view::render_live(app);
                self.terminal.write(&painter.paint(&finished, &live, cursor))
            }
        }
    }

    /// Removes the live lines and gives the terminal back for a while.
    pub(super) fn release_terminal(&mut self) -> io::Result<()> {
        self.terminal.set_alternate_screen(false)?;
        if let ActivePainter::Live { page, .. } = &mut self.painting {
            page.clear();
        }
        self.clear()?;
        self.terminal.leave_raw_mode();
        Ok(())
    }

    pub(super) fn reacquire_terminal(&mut self) -> io::Result<()> {
        self.terminal.enter_raw_mode()?;
        self.needs_redraw = true;
        Ok(())
    }

    /// Shows everything that is finished and removes the live lines.
    pub(super) fn close(&mut self, app: &mut App) -> io::Result<()> {
        self.terminal.write(self.title.restore())?;
        if let ActivePainter::Live { .. } = &self.painting {
            self.terminal.set_alternate_screen(false)?;
        }
        loop {
            let finished = app.take_scrollback(FRAME_LINES_MAX);
            let bytes = match &mut self.painting {
                ActivePainter::Linear(linear) => linear.paint(&finished, &[], ""),
                ActivePainter::Live { painter, .. } => {
                    painter.paint(&finished, &[], Cursor::default())
                }
            };
            self.terminal.write(&bytes)?;
            if app.is_scrollback_empty() {
                break;
            }
        }
        self.clear()
    }

    /// Removes the live lines, or ends the prompt's line.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let bytes = match &mut self.painting {
            ActivePainter::Linear(linear) => linear.finish_line(),
            ActivePainter::Live { painter, .. } => painter.clear(),
        };
        self.terminal.write(&bytes)
    }

    /// Draws lines that belong to no session.
    pub(super) fn draw_lines(&mut self, lines: &[StyledLine], prompt: &str) -> io::Result<()> {
        let bytes = match &mut self.painting {
            ActivePainter::Linear(linear) => linear.paint(&[], lines, prompt),
            ActivePainter::Live { painter, .. } => {
                let mut lines = lines.to_vec();
                lines.push(StyledLine::from_text(prompt, TextStyle::Dim));
                let row = lines.len().saturating_sub(1);
                painter.paint(&[], &lines, Cursor { row, column: prompt.len() })
            }
        };
        self.terminal.write(&bytes)
    }
}

fn paint_page(
    terminal: &RawTerminal,
    painter: &Painter,
    page: &mut Vec<StyledLine>,
    app: &mut App,
) -> io::Result<()> {
    app.load_pager();
    let Some(pager) = &app.dialogs.pager else { return Ok(()) };
    terminal.set_alternate_screen(true)?;
    let new_page = pager.render_screen(app.size.width, app.size.rows);
    let bytes = painter.paint_page(page, &new_page);
    *page = new_page;
    terminal.write(&bytes)
}

fn paint_linear(linear: &mut LinearPainter, app: &mut App) -> String {
    let mut finished = app.take_scrollback(FRAME_LINES_MAX);
    if let Some(pager) = app.dialogs.pager.take() {
        let folder = &app.session.facts.working_directory;
        finished.extend(match pager.is_page() {
            true => pager.into_lines(),
            false => app.transcript.render(app.size.width, folder),
        });
    }
    linear.open_question(app.dialogs.permission_prompts.front().map(|prompt| prompt.ticket));
    let (dialog, prompt) = view::render_linear(app);
    linear.paint(&finished, &dialog, &prompt)
}

/// Terminals drop longer sequences.
const COPY_BYTES_MAX: usize = 70 * 1024;
/// Finished lines that one frame may show, so that keys do not wait behind them.
const FRAME_LINES_MAX: usize = 150;
