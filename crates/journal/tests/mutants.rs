//! Boundaries of the store that no other test comes to.

use std::path::Path;

use windlass_journal::project_key::project_key;

/// The name of a project's folder is its path, and only a longer one is cut and told apart by a number.
#[test]
fn a_path_is_cut_only_when_it_is_too_long_for_a_name() {
    let key = |letters: usize| project_key(Path::new(&format!("/{}", "a".repeat(letters))));
    assert_eq!(key(199), format!("-{}", "a".repeat(199)));
    let cut = key(200);
    assert!(cut.starts_with(&format!("-{}-", "a".repeat(199))), "{cut}");
    assert_ne!(key(201), cut);
}
