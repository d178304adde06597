//! The rules above and below the composer. The upper one names the permission mode and its key.

use windlass_vocabulary::PermissionMode;

use crate::app::App;
use crate::styled_line::{StyledLine, TextStyle};
use crate::words;

pub(super) fn render_upper_rule(app: &App) -> StyledLine {
    let mode = app.session.mode;
    let style = match mode {
        PermissionMode::Default => TextStyle::Dim,
        PermissionMode::AcceptEdits => TextStyle::Success,
        PermissionMode::Plan => TextStyle::Busy,
        PermissionMode::DontAsk => TextStyle::Warning,
        PermissionMode::BypassPermissions => TextStyle::Failure,
    };
    let line = StyledLine::from_text("── ", TextStyle::Dim)
        .with_span(words::label_mode(mode), style)
        .with_span(words::MODE_KEY, TextStyle::Dim)
        .with_span(" ", TextStyle::Dim);
    let rest = app.size.width.saturating_sub(line.width());
    line.with_span("─".repeat(rest), TextStyle::Dim).truncate_to_width(app.size.width)
}

pub(super) fn render_lower_rule(app: &App) -> StyledLine {
    StyledLine::from_text("─".repeat(app.size.width), TextStyle::Dim)
}

/// Screens with fewer rows have no room for a frame.
pub(super) const FRAME_ROWS_MIN: usize = 10;
