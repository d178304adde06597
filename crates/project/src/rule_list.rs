//! Splits a list of permission rules given as one value. Does not interpret the rules.

/// Splits at commas and spaces outside of parentheses.
pub fn split_rules(value: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    value
        .split(|letter: char| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (letter == ',' || letter.is_whitespace())
        })
        .filter(|rule| !rule.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_outside_parentheses() {
        let cases: &[(&str, &[&str])] = &[
            ("Edit", &["Edit"]),
            ("Edit,Read", &["Edit", "Read"]),
            ("Edit, Read  Bash", &["Edit", "Read", "Bash"]),
            ("Bash(git log:*),Edit", &["Bash(git log:*)", "Edit"]),
            ("Bash(a, (b) c) Edit", &["Bash(a, (b) c)", "Edit"]),
            ("Bash(open", &["Bash(open"]),
            (" , ", &[]),
        ];
        for (value, rules) in cases {
            assert_eq!(split_rules(value), *rules, "{value}");
        }
    }
}
