//! How the session is displayed: colours, live or line by line, and the label of its directory.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::{NotificationChannel, Theme, TuiDisplayOptions};

/// No colours with `NO_COLOR`; plain lines on a terminal that cannot redraw, or for a screen reader.
pub(super) fn detect_appearance(is_screen_reader: bool) -> TuiDisplayOptions {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_dumb = text("TERM").is_none_or(|term| term == "dumb");
    let is_linear = is_screen_reader || is_dumb || text("WINDLASS_SCREEN_READER").is_some();
    let fixed = match text("NO_COLOR").is_some() || is_linear {
        true => Some(Theme::Plain),
        false => {
            let named = text("WINDLASS_THEME").or_else(load_remembered_theme);
            named.as_deref().and_then(parse_theme)
        }
    };
    // The Linux console prints escape sequences that it does not know.
    let can_answer = text("TERM").is_some_and(|term| term != "linux");
    TuiDisplayOptions {
        theme: fixed.unwrap_or_else(guess_theme),
        detects_background: fixed.is_none() && can_answer,
        is_linear,
        notification: detect_notification(&text),
        has_title: can_answer && !is_linear && !is_switched_off(&text),
    }
}

/// `WINDLASS_NOTIFY` names a channel, or `off`; otherwise the terminal decides.
fn detect_notification(text: &impl Fn(&str) -> Option<String>) -> NotificationChannel {
    if let Some(channel) = text("WINDLASS_NOTIFY").as_deref().and_then(parse_notification) {
        return channel;
    }
    let term = text("TERM").unwrap_or_default();
    let is_known = text("TERM_PROGRAM")
        .is_some_and(|name| NOTIFYING_TERMINALS.contains(&name.as_str()))
        || term.contains("kitty")
        || term.contains("ghostty");
    if is_known {
        return NotificationChannel::Osc9;
    }
    match term.starts_with("foot") || term.starts_with("rxvt-unicode") {
        true => NotificationChannel::Osc777,
        false => NotificationChannel::Bell,
    }
}

/// Our names, and those of Claude Code's settings. `None` for `auto`.
fn parse_notification(name: &str) -> Option<NotificationChannel> {
    Some(match name {
        "off" | "notifications_disabled" => NotificationChannel::Off,
        "bell" | "terminal_bell" => NotificationChannel::Bell,
        "osc9" | "iterm2" | "iterm2_with_bell" | "kitty" | "ghostty" => NotificationChannel::Osc9,
        "osc777" => NotificationChannel::Osc777,
        _ => return None,
    })
}

fn is_switched_off(text: &impl Fn(&str) -> Option<String>) -> bool {
    text("WINDLASS_NOTIFY").as_deref() == Some("off")
}

/// Applies what the settings say about notifications, unless the environment says it.
pub(super) fn apply_notification_setting(
    display: TuiDisplayOptions,
    name: Option<&str>,
) -> TuiDisplayOptions {
    let is_in_environment =
        std::env::var_os("WINDLASS_NOTIFY").is_some_and(|value| !value.is_empty());
    match name.and_then(parse_notification).filter(|_| !is_in_environment) {
        Some(notification) => {
            let has_title = display.has_title && notification != NotificationChannel::Off;
            TuiDisplayOptions { notification, has_title, ..display }
        }
        None => display,
    }
}

/// Applies the theme of the settings, unless the environment names one.
pub(super) fn apply_theme_setting(
    display: TuiDisplayOptions,
    name: Option<&str>,
) -> TuiDisplayOptions {
    let is_in_environment =
        std::env::var_os("WINDLASS_THEME").is_some_and(|value| !value.is_empty());
    // Claude Code has variants such as `dark-daltonized`.
    let name = name.map(|name| name.split('-').next().unwrap_or_default());
    match name.and_then(parse_theme).filter(|_| !is_in_environment && display.theme != Theme::Plain)
    {
        Some(theme) => TuiDisplayOptions { theme, detects_background: false, ..display },
        None => display,
    }
}

/// Keeps the choice of `/theme` for later sessions. Errors are ignored: the choice holds for this one.
pub(super) fn remember_theme(name: &str) {
    let Some(path) = find_theme_file() else { return };
    if let Some(folder) = path.parent() {
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    let _ = std::fs::write(path, format!("{name}\n"));
}

/// The name of the theme that the environment or `/theme` chose.
pub(super) fn chosen_theme() -> String {
    let named = std::env::var("WINDLASS_THEME").ok().filter(|name| !name.is_empty());
    named.or_else(load_remembered_theme).unwrap_or_else(|| "auto".to_owned())
}

fn load_remembered_theme() -> Option<String> {
    let text = std::fs::read_to_string(find_theme_file()?).ok()?;
    Some(text.trim().to_owned())
}

fn find_theme_file() -> Option<PathBuf> {
    super::find_state_directory().map(|state| state.join("theme"))
}

pub(super) fn parse_theme(name: &str) -> Option<Theme> {
    Some(match name {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        "plain" => Theme::Plain,
        _ => return None,
    })
}

/// `COLORFGBG` names the background last: 7 and 15 are white.
fn guess_theme() -> Theme {
    match std::env::var("COLORFGBG").ok().as_deref().and_then(|pair| pair.rsplit(';').next()) {
        Some("7" | "15") => Theme::Light,
        _ => Theme::Dark,
    }
}

pub(super) fn is_vim_mode() -> bool {
    std::env::var("WINDLASS_EDITOR_MODE").is_ok_and(|mode| mode == "vim")
}

/// The path, with `~` for the home directory.
pub(super) fn abbreviate_home(cwd: &Path) -> String {
    let home = std::env::home_dir();
    match home.and_then(|home| cwd.strip_prefix(home).ok().map(|rest| rest.to_owned())) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    }
}

/// Values of `TERM_PROGRAM` of terminals that show desktop notifications.
const NOTIFYING_TERMINALS: &[&str] = &["iTerm.app", "WezTerm", "ghostty", "kitty"];
