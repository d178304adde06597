//! Going back: files hold again what they held, and nothing of anybody else's is overwritten.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use windlass_journal::snapshot_store::{RestoreStatus, RestoredFile, UpcomingFileChange};
use windlass_journal::{Durability, SnapshotLimits, SnapshotStore};

struct Place {
    directory: tempfile::TempDir,
    kept: SnapshotStore,
}

impl Place {
    fn new(limits: SnapshotLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = SnapshotStore::folder_for(&directory.path().join("session.jsonl"));
        let kept = SnapshotStore::open(&folder, Durability::Synced, limits).unwrap();
        Self { directory, kept }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("project").join(name)
    }

    /// What an edit tool does.
    fn edit(&self, record: u64, name: &str, after: Option<&str>) -> bool {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = fs::read(&path).ok();
        let mode = path.metadata().ok().map(|found| found.permissions().mode());
        let change = UpcomingFileChange {
            record,
            path: &path,
            before: before.as_deref(),
            after: after.map(str::as_bytes),
            mode,
        };
        let is_kept = self.kept.save_before_change(&change).unwrap();
        match after {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        is_kept
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn standings(&self, record: u64) -> Vec<(String, RestoreStatus)> {
        let plan = self.kept.plan_restore(record);
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        plan.iter().map(|planned| (name(&planned.path), planned.status)).collect()
    }
}

#[test]
fn files_go_back_to_any_record_and_forward_again() {
    let place = Place::new(SnapshotLimits::default());
    fs::create_dir_all(place.path("")).unwrap();
    fs::write(place.path("old"), "one").unwrap();
    fs::set_permissions(place.path("old"), fs::Permissions::from_mode(0o751)).unwrap();
    assert!(place.edit(10, "old", Some("two")));
    assert!(place.edit(20, "new", Some("made")));
    assert!(place.edit(30, "old", Some("three")));
    assert!(place.edit(40, "old", None));
    let unchanged = |name: &str| (name.to_owned(), RestoreStatus::Restorable);
    assert_eq!(place.standings(40), []);
    assert_eq!(place.standings(35), [unchanged("old")]);
    assert_eq!(place.standings(0), [unchanged("old"), unchanged("new")]);
    let plan = place.kept.plan_restore(15);
    let done = place.kept.restore(&plan, 50, |_| false).unwrap();
    assert_eq!(done.len(), 2);
    assert_eq!((place.text("old").as_deref(), place.text("new")), (Some("two"), None));
    let plan = place.kept.plan_restore(0);
    place.kept.restore(&plan, 60, |_| false).unwrap();
    assert_eq!(place.text("old").as_deref(), Some("one"));
    let mode = place.path("old").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
    // Going back is a change like any other and can be taken back, by another process too.
    let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
    let again =
        SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
    assert_eq!(again.changes(), place.kept.changes());
    let plan = again.plan_restore(49);
    again.restore(&plan, 70, |_| false).unwrap();
    assert_eq!((place.text("old"), place.text("new").as_deref()), (None, Some("made")));
    let left: Vec<_> = fs::read_dir(place.path("")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[test]
fn what_others_wrote_stays_unless_asked_for() {
    let place = Place::new(SnapshotLimits::default());
    place.edit(1, "mine", Some("ours"));
    place.edit(2, "theirs", Some("ours"));
    place.edit(3, "link", Some("ours"));
    fs::write(place.path("theirs"), "typed by hand").unwrap();
    fs::remove_file(place.path("link")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", place.path("link")).unwrap();
    let plan = place.kept.plan_restore(0);
    let standings: Vec<RestoreStatus> = plan.iter().map(|planned| planned.status).collect();
    use RestoreStatus::{ChangedByOthers, Restorable};
    assert_eq!(standings, [Restorable, ChangedByOthers, ChangedByOthers]);
    let done = place.kept.restore(&plan, 9, |_| false).unwrap();
    assert_eq!(done[1], RestoredFile::Skipped(place.path("theirs"), ChangedByOthers));
    assert_eq!(place.text("theirs").as_deref(), Some("typed by hand"));
    assert_eq!(place.text("mine"), None);
    let plan = place.kept.plan_restore(0);
    place.kept.restore(&plan, 10, |planned| planned.path.ends_with("theirs")).unwrap();
    assert_eq!(place.text("theirs"), None);
    assert!(place.path("link").is_symlink(), "what is no plain file is never touched");
    // Changed between looking and doing.
    place.edit(11, "raced", Some("ours"));
    let plan = place.kept.plan_restore(10);
    fs::write(place.path("raced"), "a moment ago").unwrap();
    let done = place.kept.restore(&plan, 12, |_| true).unwrap();
    assert_eq!(done, [RestoredFile::Skipped(place.path("raced"), ChangedByOthers)]);
}

#[test]
fn what_is_too_much_is_said_and_not_kept() {
    let limits = SnapshotLimits { file_bytes_max: 100, session_bytes_max: 150, changes_max: 4 };
    let place = Place::new(limits);
    fs::create_dir_all(place.path("")).unwrap();
    fs::write(place.path("large"), "x".repeat(101)).unwrap();
    fs::write(place.path("first"), "y".repeat(90)).unwrap();
    fs::write(place.path("second"), "z".repeat(90)).unwrap();
    assert!(!place.edit(1, "large", Some("small")));
    assert!(place.edit(2, "first", Some("small")));
    assert!(!place.edit(3, "second", Some("small")), "the session's share is used up");
    let standings: Vec<RestoreStatus> = place.standings(0).into_iter().map(|(_, s)| s).collect();
    assert_eq!(
        standings,
        [RestoreStatus::NotStored, RestoreStatus::Restorable, RestoreStatus::NotStored]
    );
    place.edit(4, "first", Some("more"));
    let path = place.path("first");
    let change =
        UpcomingFileChange { record: 5, path: &path, before: None, after: None, mode: None };
    assert!(place.kept.save_before_change(&change).is_err(), "a list without an end is refused");
    // A content that is no longer there cannot be given back.
    let blobs =
        SnapshotStore::folder_for(&place.directory.path().join("session.jsonl")).join("blobs");
    fs::remove_dir_all(blobs).unwrap();
    assert_eq!(place.standings(1)[0].1, RestoreStatus::NotStored);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever was edited, going back to any record gives the files of that moment.
    #[test]
    fn any_edits_are_taken_back_exactly(
        edits in prop::collection::vec((0..4_u8, prop::option::of("[a-c]{0,3}")), 1..20),
        torn in 0..40_usize,
    ) {
        let place = Place::new(SnapshotLimits::default());
        let names = ["a", "b", "c/d", "e"];
        let look = || names.map(|name| place.text(name));
        let mut moments = vec![look()];
        for (record, (file, after)) in (1..).zip(&edits) {
            let name = names[usize::from(*file)];
            if after.is_some() || place.text(name).is_some() {
                place.edit(record, name, after.as_deref());
            }
            moments.push(look());
        }
        // A log whose last line was torn still serves for everything before it.
        let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
        if let Ok(log) = fs::read(folder.join("log")) {
            let mut log = log;
            log.extend(b"{\"v\":2,\"len\":90,\"crc\":\"00".iter().take(torn));
            fs::write(folder.join("log"), log).unwrap();
        }
        let kept = SnapshotStore::open(&folder, Durability::Written, SnapshotLimits::default()).unwrap();
        for (record, moment) in moments.iter().enumerate().rev() {
            let plan = kept.plan_restore(record as u64);
            for planned in &plan {
                prop_assert!(planned.status != RestoreStatus::ChangedByOthers, "{planned:?}");
            }
            kept.restore(&plan, 1_000, |_| false).unwrap();
            prop_assert_eq!(&look(), moment);
        }
    }
}

#[test]
fn going_back_that_was_cut_short_is_finished_by_doing_it_again() {
    for done in 0..=3 {
        let place = Place::new(SnapshotLimits::default());
        for name in ["a", "b", "c"] {
            fs::create_dir_all(place.path("")).unwrap();
            fs::write(place.path(name), "before").unwrap();
            place.edit(7, name, Some("after"));
        }
        // The process dies between two files, or between the word and the deed.
        let plan = place.kept.plan_restore(6);
        place.kept.restore(&plan[..done], 9, |_| false).unwrap();
        if let Some(next) = plan.get(done) {
            let change = UpcomingFileChange {
                record: 9,
                path: &next.path,
                before: Some(b"after"),
                after: Some(b"before"),
                mode: None,
            };
            place.kept.save_before_change(&change).unwrap();
        }
        let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
        let again =
            SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
        again.restore(&again.plan_restore(6), 9, |_| false).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(place.text(name).as_deref(), Some("before"), "{name} after {done}");
        }
    }
}

#[test]
fn records_that_no_longer_count_are_not_taken_for_those_that_do() {
    let place = Place::new(SnapshotLimits::default());
    place.edit(5, "a", Some("one"));
    place.edit(8, "a", Some("two"));
    // Back to record 6: what follows is numbered from 7 on again.
    place.kept.record_rewind(6).unwrap();
    place.edit(8, "b", Some("three"));
    let names = |record| {
        let found = place.standings(record);
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(7), ["b"], "what came before record 7 is as it was then");
    assert_eq!(names(6), ["b"]);
    assert_eq!(names(5), ["a", "b"]);
    assert_eq!(names(4), ["a", "b"]);
    let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
    let again =
        SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
    assert_eq!(again.plan_restore(7).len(), 1, "and after a restart too");
}

#[test]
fn spans_are_found_again_and_those_of_forgotten_records_are_not() {
    let place = Place::new(SnapshotLimits::default());
    let root = PathBuf::from("/somewhere");
    let first = place.kept.begin_span(3, root.clone(), "aa".to_owned(), None, 10).unwrap();
    place.kept.end_span(first, vec!["one".to_owned()], "bb".to_owned(), 50).unwrap();
    let second = place.kept.begin_span(7, root.clone(), "bb".to_owned(), None, 20).unwrap();
    place.kept.end_span(second, vec!["two".to_owned()], "cc".to_owned(), 60).unwrap();
    // The conversation goes back to before both, and the same numbers are given again.
    let target = Some("aa".to_owned());
    let back = place.kept.begin_span(9, root.clone(), "cc".to_owned(), target, 30).unwrap();
    place.kept.end_span(back, Vec::new(), "aa".to_owned(), 70).unwrap();
    place.kept.record_rewind(2).unwrap();
    place.kept.begin_span(4, root, "aa".to_owned(), None, 40).unwrap();

    let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
    let again =
        SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
    assert_eq!(again.spans(), place.kept.spans(), "what was written is what is read");
    assert_eq!(again.spans().len(), 4);
    assert_eq!((again.spans()[0].begun, again.spans()[0].ended), (Some(10), Some(50)));
    let counted = again.find_spans_after(2);
    assert_eq!(counted.len(), 1, "the first three belong to records that no longer count");
    assert_eq!((counted[0].record, counted[0].to.as_deref()), (4, None));
    assert!(again.spans()[2].is_rewind);
    assert_eq!(again.spans()[2].rewind_to.as_deref(), Some("aa"));
}

#[test]
fn a_span_that_lost_its_end_lasts_until_the_next_of_its_directory_and_says_so() {
    let place = Place::new(SnapshotLimits::default());
    let (root, other) = (PathBuf::from("/somewhere"), PathBuf::from("/elsewhere"));
    place.kept.begin_span(3, root.clone(), "aa".to_owned(), None, 10).unwrap();
    place.kept.begin_span(4, other, "xx".to_owned(), None, 20).unwrap();
    assert_eq!(place.kept.spans()[0].to, None, "it may still run");
    let next = place.kept.begin_span(5, root, "bb".to_owned(), None, 30).unwrap();
    place.kept.end_span(next, Vec::new(), "cc".to_owned(), 40).unwrap();
    let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
    let again =
        SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
    assert_eq!(again.spans(), place.kept.spans());
    let ends: Vec<_> =
        again.spans().into_iter().map(|span| (span.to.unwrap_or_default(), span.has_end)).collect();
    assert_eq!(ends, [("bb".to_owned(), false), (String::new(), false), ("cc".to_owned(), true)]);
}

#[test]
fn spans_of_an_older_version_are_read_without_times() {
    const LOG: &str = concat!(
        r#"{"v":2,"len":70,"crc":"aca79cd7","rec":{"span_start":{"number":0,"record":3,"root":"/somewhere","from":"aa"}}}"#,
        "\n",
        r#"{"v":2,"len":51,"crc":"9e0670f5","rec":{"span_end":{"number":0,"calls":["one"],"to":"bb"}}}"#,
        "\n",
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log"), LOG).unwrap();
    let store =
        SnapshotStore::open(folder.path(), Durability::Synced, SnapshotLimits::default()).unwrap();
    let spans = store.spans();
    assert_eq!((spans.len(), spans[0].record, spans[0].to.as_deref()), (1, 3, Some("bb")));
    assert_eq!((spans[0].begun, spans[0].ended), (None, None));
}

#[test]
fn what_a_person_saves_during_a_restore_is_there_afterwards() {
    let place = Place::new(SnapshotLimits::default());
    fs::create_dir_all(place.path("")).unwrap();
    for round in 0..60_u32 {
        let removes = round % 2 == 1;
        let before = (!removes).then_some("old");
        let _ = fs::remove_file(place.path("raced"));
        if let Some(text) = before {
            fs::write(place.path("raced"), text).unwrap();
        }
        let record = u64::from(round) * 2;
        place.edit(record + 1, "raced", Some("ours"));
        let plan = place.kept.plan_restore(record);
        let barrier = std::sync::Barrier::new(2);
        let saved = format!("by hand {round}");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // As editors do: beside it, then renamed.
                fs::write(place.path("beside"), &saved).unwrap();
                barrier.wait();
                for spin in 0..round * 2_000 {
                    std::hint::black_box(spin);
                }
                fs::rename(place.path("beside"), place.path("raced")).unwrap();
            });
            barrier.wait();
            place.kept.restore(&plan, record + 2, |_| false).unwrap();
        });
        assert_eq!(place.text("raced"), Some(saved), "round {round}");
    }
    let names = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["raced"], "no temporary file stays");
}

#[test]
fn a_persons_change_between_two_of_ours_is_not_overwritten_unasked() {
    let place = Place::new(SnapshotLimits::default());
    fs::create_dir_all(place.path("")).unwrap();
    fs::write(place.path("file"), "old").unwrap();
    place.edit(1, "file", Some("ours"));
    fs::write(place.path("file"), "ours, and by hand").unwrap();
    place.edit(2, "file", Some("ours, and by hand, and ours"));
    assert_eq!(place.standings(1)[0].1, RestoreStatus::Restorable, "back to what a person left");
    assert_eq!(place.standings(0)[0].1, RestoreStatus::ChangedByOthers);
}

#[test]
fn setuid_never_comes_back_and_a_damaged_content_is_not_restored() {
    let place = Place::new(SnapshotLimits::default());
    fs::create_dir_all(place.path("")).unwrap();
    fs::write(place.path("tool"), "one").unwrap();
    fs::set_permissions(place.path("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
    place.edit(1, "tool", Some("two"));
    place.kept.restore(&place.kept.plan_restore(0), 2, |_| false).unwrap();
    assert_eq!(place.text("tool").as_deref(), Some("one"));
    let mode = place.path("tool").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);

    place.edit(3, "tool", Some("three"));
    let blobs =
        SnapshotStore::folder_for(&place.directory.path().join("session.jsonl")).join("blobs");
    for blob in fs::read_dir(blobs).unwrap() {
        fs::write(blob.unwrap().path(), "damaged").unwrap();
    }
    let done = place.kept.restore(&place.kept.plan_restore(2), 4, |_| false).unwrap();
    assert_eq!(done, [RestoredFile::Skipped(place.path("tool"), RestoreStatus::NotStored)]);
    assert_eq!(place.text("tool").as_deref(), Some("three"));
}

#[test]
fn a_log_from_elsewhere_names_no_file_and_no_content_that_ours_could_not() {
    use windlass_journal::snapshot_store::{FileImage, LoggedFileChange};

    let place = Place::new(SnapshotLimits::default());
    place.edit(1, "file", Some("ours"));
    let folder = SnapshotStore::folder_for(&place.directory.path().join("session.jsonl"));
    let log = fs::read(folder.join("log")).unwrap();
    let secret = FileImage::Content("../../secret".to_owned());
    let plain = |path: &str| LoggedFileChange {
        record: 2,
        path: path.into(),
        before: FileImage::Absent,
        after: FileImage::Absent,
        mode: None,
        rewind: None,
    };
    let hostile = [
        plain("relative/file"),
        plain("/somewhere/../etc/passwd"),
        plain("/"),
        LoggedFileChange { before: secret.clone(), ..plain("/somewhere/file") },
        LoggedFileChange { after: secret, ..plain("/somewhere/file") },
    ];
    let possible = (plain("/somewhere/file"), 2);
    for (line, count) in hostile.map(|line| (line, 1)).into_iter().chain([possible]) {
        let text = serde_json::to_string(&line).unwrap();
        let framed = format!(
            "{{\"v\":2,\"len\":{},\"crc\":\"{:08x}\",\"rec\":{text}}}\n",
            text.len(),
            crc32fast::hash(format!("2,{},{text}", text.len()).as_bytes())
        );
        fs::write(folder.join("log"), [log.as_slice(), framed.as_bytes()].concat()).unwrap();
        let opened =
            SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default()).unwrap();
        assert_eq!(opened.changes().len(), count, "{text}");
    }
}
