//! What fills the window, as a picture: one cell for each hundredth of it, in the colour of what
//! fills it, and a line for each colour.

use windlass_vocabulary::inventory::{Component, Inventory};

use crate::line::{Line, Role};

/// What a part is called here, and how it looks.
fn group(component: &Component) -> (&'static str, Role) {
    match component {
        Component::System => ("system prompt", Role::Heading),
        Component::Tools => ("tools on offer", Role::Code),
        Component::Memory | Component::Pins => ("instructions and pins", Role::Link),
        Component::Summaries => ("summaries", Role::Warning),
        Component::Requests => ("what was asked", Role::User),
        Component::Answers | Component::Reasoning => ("what was answered", Role::Good),
        Component::Results(_) => ("results of tools", Role::Busy),
    }
}

/// Parts by what they are called, in the order they are first met.
fn groups(inventory: &Inventory) -> Vec<(&'static str, Role, u64)> {
    let mut groups: Vec<(&'static str, Role, u64)> = Vec::new();
    for part in &inventory.parts {
        let (name, role) = group(&part.component);
        match groups.iter_mut().find(|(own, ..)| *own == name) {
            Some((.., tokens)) => *tokens += part.tokens.0,
            None => groups.push((name, role, part.tokens.0)),
        }
    }
    groups
}

/// So many signs, each in the colour of what it stands for.
#[must_use]
pub fn shares(inventory: &Inventory, count: usize) -> Vec<Role> {
    let groups = groups(inventory);
    let total: u64 = groups.iter().map(|(.., tokens)| tokens).sum();
    let wide = u64::try_from(count).unwrap_or(u64::MAX);
    let at = |sign: u64| {
        sign.saturating_mul(total).saturating_mul(2).saturating_add(total) / (2 * wide.max(1))
    };
    (0..wide)
        .map(|sign| {
            let mut left = at(sign);
            let found = groups.iter().find(|(.., tokens)| {
                let is_here = left < *tokens;
                left = left.saturating_sub(*tokens);
                is_here
            });
            found.map_or(Role::Quiet, |(_, role, _)| *role)
        })
        .collect()
}

/// The picture.
#[must_use]
pub fn picture(inventory: &Inventory, width: usize) -> Vec<Line> {
    let window = inventory.window.0.max(1);
    let percent = inventory.total.0.saturating_mul(100) / window;
    let head = format!(
        "{}: {} of {} tokens ({percent} %)",
        inventory.model, inventory.total.0, inventory.window.0
    );
    let mut lines = vec![Line::of(head, Role::Strong).cut(width)];
    let full =
        usize::try_from(percent.min(100)).unwrap_or(100).max(usize::from(inventory.total.0 > 0));
    let reserved = usize::try_from(inventory.reserved.0.saturating_mul(100) / window).unwrap_or(0);
    let kept = reserved.min(100 - full);
    let mut cells: Vec<(&str, Role)> =
        shares(inventory, full).into_iter().map(|role| ("■", role)).collect();
    cells.resize(100 - kept, ("·", Role::Quiet));
    cells.resize(100, ("▒", Role::Quiet));
    let mut legend: Vec<(String, Role, u64)> = groups(inventory)
        .into_iter()
        .map(|(name, role, tokens)| (format!("■ {name}"), role, tokens))
        .collect();
    legend.push(("· free".to_owned(), Role::Quiet, inventory.free().0));
    legend.push(("▒ kept for the answer".to_owned(), Role::Quiet, inventory.reserved.0));
    for row in 0..legend.len().max(10) {
        let mut line = Line::of("  ", Role::Plain);
        match cells.get(row * 10..row * 10 + 10) {
            Some(ten) => ten.iter().for_each(|(sign, role)| line.push(format!("{sign} "), *role)),
            None => line.push(" ".repeat(20), Role::Plain),
        }
        if let Some((name, role, tokens)) = legend.get(row) {
            line.push(format!(" {name:<24}"), *role);
            line.push(format!("{tokens:>9}"), Role::Plain);
        }
        lines.push(line.cut(width));
    }
    lines
}
