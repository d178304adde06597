//! How things look here: colours, line by line or live, and what the folder is called.

use std::path::Path;

use crate::{Theme, TuiDisplayOptions};

/// No colours where somebody does not want them, no live lines where a terminal cannot have them or
/// somebody has it read to them.
pub(super) fn detect_appearance(is_read_out: bool) -> TuiDisplayOptions {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_dumb = text("TERM").is_none_or(|term| term == "dumb");
    let is_linear = is_read_out || is_dumb || text("WINDLASS_SCREEN_READER").is_some();
    let has_messages = text("TERM_PROGRAM")
        .is_some_and(|name| NOTIFYING_TERMINALS.contains(&name.as_str()))
        || text("TERM").is_some_and(|term| term.contains("kitty") || term.contains("ghostty"));
    let fixed = match text("WINDLASS_THEME").as_deref().and_then(parse_theme) {
        _ if text("NO_COLOR").is_some() || is_linear => Some(Theme::Plain),
        fixed => fixed,
    };
    // A console of the system prints what it does not know.
    let can_answer = text("TERM").is_some_and(|term| term != "linux");
    TuiDisplayOptions {
        theme: fixed.unwrap_or_else(guess_theme),
        detects_background: fixed.is_none() && can_answer,
        is_linear,
        has_notifications: has_messages,
    }
}

/// The colours that settings name, where nobody said otherwise here.
pub(super) fn apply_theme_setting(
    looks: TuiDisplayOptions,
    name: Option<&str>,
) -> TuiDisplayOptions {
    let is_said = std::env::var_os("WINDLASS_THEME").is_some_and(|value| !value.is_empty());
    // Others have names for more shades than there are here.
    let name = name.map(|name| name.split('-').next().unwrap_or_default());
    match name.and_then(parse_theme).filter(|_| !is_said && looks.theme != Theme::Plain) {
        Some(theme) => TuiDisplayOptions { theme, detects_background: false, ..looks },
        None => looks,
    }
}

/// A look by its name.
pub(super) fn parse_theme(name: &str) -> Option<Theme> {
    Some(match name {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        "plain" => Theme::Plain,
        _ => return None,
    })
}

/// `COLORFGBG` names the ground last: 7 and 15 are white.
fn guess_theme() -> Theme {
    match std::env::var("COLORFGBG").ok().as_deref().and_then(|pair| pair.rsplit(';').next()) {
        Some("7" | "15") => Theme::Light,
        _ => Theme::Dark,
    }
}

/// Does somebody want keys as in vim?
pub(super) fn is_vim_mode() -> bool {
    std::env::var("WINDLASS_EDITOR_MODE").is_ok_and(|mode| mode == "vim")
}

/// The folder's name, from the home where it lies there.
pub(super) fn abbreviate_home(cwd: &Path) -> String {
    let home = std::env::home_dir();
    match home.and_then(|home| cwd.strip_prefix(home).ok().map(|rest| rest.to_owned())) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    }
}

/// Terminals that show messages of programs.
const NOTIFYING_TERMINALS: &[&str] = &["iTerm.app", "WezTerm", "ghostty", "kitty"];
