//! Many sessions on a real disk: listed, found, searched, named, exported, forked, deleted.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::fs;
use std::path::{Path, PathBuf};

use session_fixtures::{conversation, read, settings};
use windlass_journal::session_catalogue::{JournalExportFormat, export_session, fork_journal};
use windlass_journal::{
    Durability, JournalError, JournalHead, JournalNote, JournalOpenOptions, JournalWriter,
    NewRecordItem, SessionCatalogue, fold,
};
use windlass_vocabulary::MicroUsd;

const PROJECT: &str = "/home/u/project";

fn begin(catalogue: &SessionCatalogue, project: &str, id: &str, at: u64, prompt: &str) -> PathBuf {
    let path = catalogue.journal_path(Path::new(project), id);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut opening = JournalOpenOptions::new(Durability::Written);
    opening.head = JournalHead {
        session: Some(id.into()),
        created: at,
        project: Some(project.into()),
        branch: Some("main".into()),
        ..JournalHead::default()
    };
    let mut writer = JournalWriter::open_without_replay(&path, opening).unwrap();
    for (events, notes) in conversation(prompt) {
        let items =
            events.iter().map(NewRecordItem::Event).chain(notes.iter().map(NewRecordItem::Note));
        writer.append_items(at + 1, &items.collect::<Vec<_>>()).unwrap();
    }
    path
}

fn ids(catalogue: &SessionCatalogue, project: Option<&str>) -> Vec<String> {
    let listed = catalogue.list(project.map(Path::new)).unwrap();
    listed.into_iter().map(|listed| listed.summary.id).collect()
}

#[test]
fn sessions_are_listed_by_project_with_what_they_say_of_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path().join("sessions"));
    assert_eq!(ids(&catalogue, None), [""; 0]);
    let first = begin(&catalogue, PROJECT, "aaa1", 1_000, "Please  find\nthe bug");
    begin(&catalogue, PROJECT, "aab2", 3_000, "Second");
    begin(&catalogue, "/home/u/other", "ccc3", 2_000, "Other");
    assert_eq!(ids(&catalogue, Some(PROJECT)), ["aab2", "aaa1"]);
    assert_eq!(ids(&catalogue, None), ["aab2", "ccc3", "aaa1"]);
    let card = catalogue.list(Some(Path::new(PROJECT))).unwrap().pop().unwrap().summary;
    assert_eq!(card.prompt, "Please find the bug");
    assert_eq!((card.project.as_deref(), card.branch.as_deref()), (Some(PROJECT), Some("main")));
    assert_eq!((card.created, card.updated), (1_000, 1_001));
    assert_eq!((card.messages, card.cost), (4, MicroUsd(1_500)));
    assert_eq!(card.size, first.metadata().unwrap().len());

    // Named by a person while it is being written; the name outlives the index.
    let (_writer, _) = JournalWriter::open(&first, Durability::Written, &settings()).unwrap();
    catalogue.rename(&first, "  The hunt  ").unwrap();
    fs::remove_file(directory.path().join("sessions/index")).unwrap();
    let found = |wanted: &str| catalogue.find(wanted, Some(Path::new(PROJECT)));
    for wanted in ["aaa1", "aaa", "The Hunt", "hunt"] {
        assert_eq!(found(wanted).unwrap().path, first, "{wanted}");
    }
    assert!(matches!(found("aa"), Err(JournalError::NotOne { found: 2, .. })));
    assert!(matches!(found("nothing"), Err(JournalError::NotOne { found: 0, .. })));
    assert!(matches!(found(""), Err(JournalError::NotOne { found: 0, .. })));
}

#[test]
fn the_index_is_never_trusted_over_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let path = begin(&catalogue, PROJECT, "one", 1_000, "First");
    let before = catalogue.list(None).unwrap();
    let index = directory.path().join("index");
    let kept = fs::read(&index).unwrap();
    // Written to since: what the index says is out of date.
    let mut writer =
        JournalWriter::open_without_replay(&path, JournalOpenOptions::new(Durability::Written))
            .unwrap();
    writer
        .append_items(9_000, &[NewRecordItem::Note(&JournalNote::Titled("By the model".into()))])
        .unwrap();
    let now = catalogue.list(None).unwrap();
    assert_eq!(now[0].summary.title.as_deref(), Some("By the model"));
    assert_eq!(now[0].summary.updated, 9_000);
    // Whatever the index holds, the list is the same.
    for nonsense in [&kept[..], b"", b"\0\0\0", &kept[..kept.len() / 2], b"windlass sessions 1\n{}"]
    {
        fs::write(&index, nonsense).unwrap();
        assert_eq!(catalogue.list(None).unwrap(), now);
    }
    // A journal that is gone is not listed, and one that is damaged still is.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(catalogue.list(None).unwrap().len(), before.len());
    drop(writer);
    catalogue.delete(&path).unwrap();
    assert_eq!(catalogue.list(None).unwrap(), []);
}

#[test]
fn a_long_journal_is_described_by_its_ends() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let path = begin(&catalogue, PROJECT, "one", 1_000, "First");
    let mut writer =
        JournalWriter::open_without_replay(&path, JournalOpenOptions::new(Durability::Written))
            .unwrap();
    for _ in 0..40 {
        for (events, notes) in conversation(&"long ".repeat(1_000)) {
            let items = events
                .iter()
                .map(NewRecordItem::Event)
                .chain(notes.iter().map(NewRecordItem::Note));
            writer.append_items(5_000, &items.collect::<Vec<_>>()).unwrap();
        }
    }
    let card = catalogue.list(None).unwrap().remove(0).summary;
    assert!(card.size > 200_000);
    assert_eq!((card.prompt.as_str(), card.updated), ("First", 5_000));
    assert_eq!((card.messages, card.cost), (4, MicroUsd(1_500)), "as the last end of a run says");
}

#[test]
fn what_was_said_is_found_and_exported() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let path = begin(&catalogue, PROJECT, "one", 1_000, "Where is the \"Needle\"?");
    begin(&catalogue, PROJECT, "two", 2_000, "Something else");
    for words in ["needle", "the \"NEEDLE\"", "Marker-Of-The-Result"] {
        let hits = catalogue.search(words, None, 10).unwrap();
        let expected = if words.starts_with("Marker") { 2 } else { 1 };
        assert_eq!(hits.len(), expected, "{words}");
        let excerpt = hits.last().unwrap().excerpt.to_lowercase();
        assert!(excerpt.contains(&words.to_lowercase()), "{excerpt}");
    }
    assert_eq!(catalogue.search("withdrawn answer", None, 10).unwrap(), []);
    assert_eq!(catalogue.search("marker-of-the-result", None, 1).unwrap().len(), 1);
    let mut markdown = Vec::new();
    export_session(&path, JournalExportFormat::Markdown, &mut markdown).unwrap();
    let markdown = String::from_utf8(markdown).unwrap();
    for part in ["# Session one", "## User", "Needle", "### Bash", "````\n```", "completed"] {
        assert!(markdown.contains(part), "{part} is missing in {markdown}");
    }
    let mut lines = Vec::new();
    export_session(&path, JournalExportFormat::Jsonl, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let who: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["who"].to_string())
        .collect();
    assert_eq!(who, ["user", "model", "call", "tool", "model", "end"].map(|w| format!("{w:?}")));
    assert!(lines.contains(r#""call":"call_1""#), "{lines}");
}

#[test]
fn a_fork_begins_where_it_was_cut_and_leaves_the_source_alone() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let path = begin(&catalogue, PROJECT, "one", 1_000, "First");
    let before = fs::read(&path).unwrap();
    let (events, _, _) = read(&path);
    for up_to in [None, Some(0), Some(1), Some(4), Some(1_000)] {
        let new = catalogue.journal_path(Path::new(PROJECT), "two");
        let last = fork_journal(&path, up_to, &new, &"two".into(), None, 7_000).unwrap();
        let (taken, damages, _) = read(&new);
        assert_eq!(damages, []);
        assert!(events.starts_with(&taken));
        assert_eq!(fold(&new, &settings()).unwrap().seq, last);
        assert_eq!(up_to.is_none_or(|up_to| up_to >= 1_000), taken == events);
        let error = fork_journal(&path, None, &new, &"two".into(), None, 7_000).unwrap_err();
        assert!(error.to_string().contains("begun"), "{error}");
        let listed = catalogue.find("two", None).unwrap();
        assert_eq!(listed.summary.parent.as_deref(), Some("one"));
        assert_eq!(listed.summary.project.as_deref(), Some(PROJECT));
        // It can be written like any other.
        JournalWriter::open(&new, Durability::Written, &settings()).unwrap();
        catalogue.delete(&new).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_session_goes_with_everything_beside_it_and_not_while_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let path = begin(&catalogue, PROJECT, "one", 1_000, "First");
    begin(&catalogue, PROJECT, "one-more", 1_000, "First");
    catalogue.rename(&path, "name").unwrap();
    for folder in ["spill", "kept"] {
        fs::create_dir(path.with_extension(folder)).unwrap();
        fs::write(path.with_extension(folder).join("file"), "text").unwrap();
    }
    fs::write(path.with_extension("2.jsonl"), "").unwrap();
    let (writer, _) = JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
    assert!(matches!(catalogue.delete(&path), Err(JournalError::Busy { .. })));
    drop(writer);
    catalogue.delete(&path).unwrap();
    let left: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["one-more.jsonl"]);
    assert!(catalogue.delete(&path).is_err(), "what is not there is not made to be deleted");
}
