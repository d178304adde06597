//! Cuts a list of permission rules where it is typed as one value. What a rule means is not known
//! here.

/// The rules in one value: cut at commas and spaces that stand outside parentheses.
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
