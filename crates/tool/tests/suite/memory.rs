//! What the session knows of its files: who changed them, which are in hand, and reading again.

use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use windlass_tool::reread_file;

use crate::test_project::{TestProject, text};

#[tokio::test]
async fn a_change_behind_the_models_back_is_told_once_with_what_changed() {
    let project = TestProject::new();
    let files = &project.context.files;
    let small = project.write("small", "one\ntwo\nthree\n");
    let large = project.write("large", "x\n".repeat(100_000));
    let gone = project.write("gone", "x\n");
    let touched = project.write("touched", "x\n");
    let unread = project.write("unread", "x\n");
    for path in [&small, &large, &gone, &touched] {
        project.read(path).await;
    }
    assert_eq!(files.find_changed_files(), []);

    std::fs::write(&small, "one\n2\nthree\n").unwrap();
    std::fs::write(&large, "y\n".repeat(100_001)).unwrap();
    std::fs::remove_file(&gone).unwrap();
    std::fs::write(&unread, "y\n").unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    std::fs::File::options().write(true).open(&touched).unwrap().set_modified(later).unwrap();
    let changes = files.find_changed_files();
    let notes: Vec<(&str, &str)> = changes
        .iter()
        .map(|change| (change.path.file_name().unwrap().to_str().unwrap(), change.note.as_str()))
        .collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!((notes[0].0, notes[1].0, notes[2].0), ("gone", "large", "small"));
    assert!(notes[0].1.ends_with("was deleted or moved."));
    assert!(notes[1].1.ends_with("Read it again before you rely on it."));
    assert!(notes[2].1.ends_with("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), "{}", notes[2].1);
    assert_eq!(files.find_changed_files(), []);

    // Who has seen the whole difference may edit; who has not must read first.
    let edit = |path, old, new| json!({"file_path": path, "old_string": old, "new_string": new});
    assert!(!project.call("Edit", edit(&small, "2", "zwei")).await.is_error);
    let refused = project.call("Edit", edit(&large, "x", "z")).await;
    assert!(text(&refused).contains("has changed since it was read"));
    assert_eq!(files.find_changed_files(), [], "our own edits are no news");
    project.bash("echo more >> small").await;
    assert_eq!(files.find_changed_files().len(), 1);
}

#[tokio::test]
async fn files_in_hand_are_read_again_within_a_bound() {
    let project = TestProject::new();
    let first = project.write("first", "one\ntwo\nthree\n");
    let second = project.write("second", "x\n");
    project.read(&first).await;
    project.read(&second).await;
    assert_eq!(project.context.files.recent_files(), [second.clone(), first.clone()]);
    project.read(&first).await;
    assert_eq!(project.context.files.recent_files(), [first.clone(), second.clone()]);
    let shown = reread_file(&project.context, &first, 8).unwrap();
    assert_eq!(shown, "     1\tone\n     2\ttwo\n[3 lines in all; the next is offset 3]\n");
    std::fs::write(&second, "y\n").unwrap();
    assert_eq!(reread_file(&project.context, &second, 1_000).unwrap(), "     1\ty\n");
    assert_eq!(project.context.files.find_changed_files(), [], "what was read again is known");
    std::fs::remove_file(&second).unwrap();
    assert!(reread_file(&project.context, &second, 10).unwrap_err().contains("does not exist"));
}

#[tokio::test]
async fn looking_for_changes_costs_little() {
    let project = TestProject::new();
    for number in 0..500 {
        let path = project.write(&format!("{number}"), format!("{number}\n"));
        project.read(&path).await;
    }
    let measure = |work: &dyn Fn()| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    let read_all = || {
        for number in 0..500 {
            std::fs::read(project.path(&number.to_string())).unwrap();
        }
    };
    // Looking opens nothing. In the same moments as reading, so that a busy machine slows both down.
    let rounds = (0..20).map(|_| {
        let looked = measure(&|| assert_eq!(project.context.files.find_changed_files(), []));
        (looked, measure(&read_all))
    });
    let (looked, read): (Vec<Duration>, Vec<Duration>) = rounds.unzip();
    let (looked, read) = (looked.iter().min().unwrap(), read.iter().min().unwrap());
    assert!(*looked < *read * 3, "{looked:?} beside {read:?}");
}
