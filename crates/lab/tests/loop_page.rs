//! `docs/loop.md` says what the rules really do.

use std::path::Path;

use windlass_lab::check::table;

#[test]
fn the_page_is_what_the_walk_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/loop.md");
    let page = table::render_loop_page();
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/loop.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/loop.md is not what the rules do; run this test with WINDLASS_BLESS=1 and read the diff"
    );
}
