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
        inventory.model,
        grouped(inventory.total.0),
        grouped(inventory.window.0)
    );
    let mut lines = Line::of(head, Role::Strong).wrapped(width, 2);
    let full =
        usize::try_from(percent.min(100)).unwrap_or(100).max(usize::from(inventory.total.0 > 0));
    let reserved = usize::try_from(inventory.reserved.0.saturating_mul(100) / window).unwrap_or(0);
    let kept = reserved.min(100 - full);
    let mut cells: Vec<Cell> =
        shares(inventory, full).into_iter().map(|role| ("■", role)).collect();
    cells.resize(100 - kept, ("·", Role::Quiet));
    cells.resize(100, ("▒", Role::Quiet));
    let mut legend: Vec<Meaning> = groups(inventory)
        .into_iter()
        .map(|(name, role, tokens)| (format!("■ {name}"), role, tokens))
        .collect();
    legend.push(("· free".to_owned(), Role::Quiet, inventory.free().0));
    legend.push(("▒ kept for the answer".to_owned(), Role::Quiet, inventory.reserved.0));
    match width < BESIDE_MIN {
        true => below(&cells, &legend, width, &mut lines),
        false => beside(&cells, &legend, width, &mut lines),
    }
    lines
}

/// What the signs mean, to the right of them.
fn beside(cells: &[Cell], legend: &[Meaning], width: usize, lines: &mut Vec<Line>) {
    for row in 0..legend.len().max(10) {
        let mut line = Line::of("  ", Role::Plain);
        match cells.get(row * 10..row * 10 + 10) {
            Some(ten) => ten.iter().for_each(|(sign, role)| line.push(format!("{sign} "), *role)),
            None => line.push(" ".repeat(20), Role::Plain),
        }
        if let Some((name, role, tokens)) = legend.get(row) {
            line.push(format!(" {name:<24}"), *role);
            line.push(format!("{:>9}", grouped(*tokens)), Role::Plain);
        }
        lines.push(line.cut(width));
    }
}

/// What the signs mean, below them: for narrow screens.
fn below(cells: &[Cell], legend: &[Meaning], width: usize, lines: &mut Vec<Line>) {
    for row in cells.chunks(25) {
        let mut line = Line::of("  ", Role::Plain);
        row.iter().for_each(|(sign, role)| line.push(*sign, *role));
        lines.push(line.cut(width));
    }
    for (name, role, tokens) in legend {
        let line = Line::of(format!("  {name:<24}"), *role);
        lines.push(line.and(format!("{:>9}", grouped(*tokens)), Role::Plain).cut(width));
    }
}

/// A number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A sign of the picture.
type Cell = (&'static str, Role);
/// What a sign means, and how many tokens that are.
type Meaning = (String, Role, u64);

/// From this width on there is room beside the picture.
const BESIDE_MIN: usize = 58;

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_vocabulary::Tokens;
    use windlass_vocabulary::inventory::Part;

    #[test]
    fn every_number_is_there_however_narrow_it_is() {
        let part = |component, tokens| Part { component, tokens: Tokens(tokens), count: 1 };
        let inventory = Inventory {
            model: "a-model-with-a-long-name".into(),
            window: Tokens(200_000),
            total: Tokens(61_234),
            reserved: Tokens(20_000),
            threshold: Tokens(180_000),
            parts: vec![part(Component::System, 12_000), part(Component::Requests, 49_234)],
            levels: Default::default(),
            losses: Vec::new(),
        };
        for width in [40, 57, 58, 80, 200] {
            let lines = picture(&inventory, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}");
            let words: Vec<String> = lines.iter().map(Line::words).collect();
            let words = words.join("\n");
            for number in ["61,234", "12,000", "49,234", "20,000", "30 %"] {
                assert!(words.contains(number), "{width}: {number}:\n{words}");
            }
        }
    }
}
