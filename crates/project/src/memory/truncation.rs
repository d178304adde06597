//! Truncates the longest files when the total is too long, so that one large file does not displace
//! the others.

use super::loader::MemorySection;

/// Truncates to this total size, and returns which files were truncated.
pub(super) fn truncate_sections(sections: &mut [MemorySection], bytes_max: usize) -> Vec<String> {
    let mut lengths: Vec<usize> = sections.iter().map(|section| section.text.len()).collect();
    if lengths.iter().sum::<usize>() <= bytes_max {
        return Vec::new();
    }
    lengths.sort_unstable();
    let share = compute_share(&lengths, bytes_max);
    let mut notes = Vec::new();
    for section in sections.iter_mut().filter(|section| section.text.len() > share) {
        section.text.truncate(section.text.floor_char_boundary(share));
        section.text.push_str("\n(The rest was cut.)");
        let place = section.path.display();
        notes.push(format!("{place} was cut at {share} bytes: instructions are over {bytes_max}"));
    }
    notes
}

/// The share of each file: what short files do not use is left for long ones.
fn compute_share(ascending: &[usize], bytes_max: usize) -> usize {
    let mut left = bytes_max;
    let mut others = ascending.len();
    for length in ascending {
        let equal = left / others.max(1);
        if *length > equal {
            return equal;
        }
        left -= length;
        others -= 1;
    }
    left
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::loader::MemoryAuthor;
    use super::*;

    #[test]
    fn the_long_ones_are_cut_and_the_short_ones_stay() {
        for (lengths, bytes_max, expected) in [
            (vec![10, 20, 30], 60, vec![10, 20, 30]),
            (vec![1000, 20], 100, vec![80, 20]),
            (vec![1000, 20, 1000], 120, vec![50, 20, 50]),
            (vec![7, 7, 7], 6, vec![2, 2, 2]),
            (vec![5], 0, vec![0]),
        ] {
            let section = |length: &usize| MemorySection {
                author: MemoryAuthor::User,
                path: PathBuf::from("/f"),
                text: "x".repeat(*length),
            };
            let mut sections: Vec<MemorySection> = lengths.iter().map(section).collect();
            let notes = truncate_sections(&mut sections, bytes_max);
            let left = |section: &MemorySection| section.text.matches('x').count();
            assert_eq!(sections.iter().map(left).collect::<Vec<_>>(), expected);
            assert_eq!(notes.len(), lengths.iter().zip(&expected).filter(|(a, b)| a != b).count());
        }
    }
}
