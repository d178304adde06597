//! Plays every file of `scenarios/`. One test, so that one run reports every file that is wrong.
//!
//! `WINDLASS_BLESS=1 cargo test -p windlass-lab --test scenarios` rewrites expectations; read the
//! difference before you keep it.

use std::path::Path;

use windlass_lab::scenario;

#[test]
fn every_scenario_plays_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let only = std::env::var("WINDLASS_SCENARIO").unwrap_or_default();
    let bless = std::env::var_os("WINDLASS_BLESS").is_some();
    let files = scenario::list_scenario_files(&root).expect("scenarios/ can be read");
    let mut played = 0;
    let mut wrong = 0;
    for path in files {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        if !name.contains(&only) {
            continue;
        }
        played += 1;
        let problems = scenario::play_scenario_file(&path, bless).expect("the file can be read");
        wrong += usize::from(!problems.is_empty());
        for problem in problems {
            eprintln!("scenarios/{name}:{}: {}", problem.line, problem.message);
        }
    }
    assert!(played > 0, "no scenario has `{only}` in its name");
    assert!(wrong == 0, "{wrong} of {played} scenarios are not as written");
}
