//! The line below everything: which model, what may run, where, how full, how dear.

use windlass_vocabulary::inventory::Inventory;

use super::{context, elapsed};
use crate::app::App;
use crate::line::{Line, Role};

/// The line.
pub(super) fn line(app: &App) -> Line {
    let about = &app.about;
    let mut line = Line::of(about.model.clone(), Role::Quiet);
    let add = |line: &mut Line, words: &str| line.push(format!(" · {words}"), Role::Quiet);
    add(&mut line, app.mode.name());
    if let Some(hint) = app.hint {
        line.push(format!(" · {hint}"), Role::Strong);
    }
    if app.is_busy {
        add(&mut line, &format!("turn {}", app.turn));
        add(&mut line, &elapsed(app.now.saturating_sub(app.began)));
    }
    if about.window > 0 && app.tokens > 0 {
        let percent = app.tokens.saturating_mul(100) / about.window;
        line.push(" · ", Role::Quiet);
        bar(&mut line, app.inventory.as_ref(), percent);
        line.push(format!(" {percent}%"), Role::Quiet);
    }
    match about.budget {
        Some(budget) => {
            add(&mut line, &format!("{} of {}", dollars(app.cost), dollars(budget)));
        }
        None if app.cost > 0 => add(&mut line, &dollars(app.cost)),
        None => {}
    }
    add(&mut line, &about.directory);
    if let Some(branch) = &about.branch {
        add(&mut line, branch);
    }
    line.cut(app.width)
}

/// The user's own line. Whatever a program printed, it steers nothing.
pub(super) fn own(app: &App) -> Option<Line> {
    let words = app.status_line.as_deref().map(windlass_permission::display::cleaned)?;
    let words = words.lines().next().unwrap_or_default().replace('\t', " ");
    (!words.trim().is_empty()).then(|| Line::of(words, Role::Quiet).cut(app.width))
}

/// Ten signs for the window, in the colours of what fills it.
fn bar(line: &mut Line, inventory: Option<&Inventory>, percent: u64) {
    let full = usize::try_from(percent.min(100).div_ceil(10)).unwrap_or(0).max(1);
    match inventory {
        Some(inventory) => {
            for role in context::shares(inventory, full) {
                line.push("▰", role);
            }
        }
        None => line.push("▰".repeat(full), Role::Quiet),
    }
    line.push("▱".repeat(10 - full), Role::Quiet);
}

fn dollars(micro: u64) -> String {
    format!("${}.{:04}", micro / 1_000_000, (micro % 1_000_000) / 100)
}
