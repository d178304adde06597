//! How long it takes to list and to find among 10,000 sessions.
//! `cargo bench -p windlass-journal --bench list`
//!
//! Fails when the list takes more than three times its budget. Without `--bench` a few sessions are tried once.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench says no")]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_engine::Event;
use windlass_journal::record::RunEndedNote;
use windlass_journal::{
    Durability, JournalHead, JournalNote, JournalOpenOptions, JournalWriter, NewRecordItem,
    SessionCatalogue,
};
use windlass_vocabulary::{ContentBlock, MicroUsd, Terminal};

const BUDGET: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sessions = if is_measured { 10_000 } else { 50 };
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    for number in 0..sessions {
        begin(&catalogue, number);
    }
    let project = format!("/home/user/projects/project-{}", 7);
    let time = |what: &str, rounds: u32, run: &dyn Fn() -> usize| {
        let mut best = Duration::MAX;
        let mut found = 0;
        for _ in 0..rounds {
            let start = Instant::now();
            found = run();
            best = best.min(start.elapsed());
        }
        println!("{what:<44} {best:>10.1?}   {found} found");
        best
    };
    let rounds = if is_measured { 7 } else { 1 };
    time("listed without an index", 1, &|| catalogue.list(None).unwrap().len());
    let took = time("listed", rounds, &|| catalogue.list(None).unwrap().len());
    let project = Path::new(&project);
    time("listed, one project", rounds, &|| catalogue.list(Some(project)).unwrap().len());
    time("found by the beginning of an id", rounds, &|| {
        usize::from(catalogue.find("00000007-", None).is_ok())
    });
    time("searched, all text", rounds, &|| {
        catalogue.search("number 9999", None, 10).unwrap().len()
    });
    match is_measured && took > 3 * BUDGET {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn begin(catalogue: &SessionCatalogue, number: u64) {
    let project = format!("/home/user/projects/project-{}", number % 20);
    let id = format!("{number:08}-0000-4000-8000-000000000000");
    let path = catalogue.journal_path(Path::new(&project), &id);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut opening = JournalOpenOptions::new(Durability::Written);
    opening.head = JournalHead {
        session: Some(id.as_str().into()),
        created: 1_700_000_000_000 + number,
        project: Some(project),
        ..JournalHead::default()
    };
    let mut writer = JournalWriter::open_without_replay(&path, opening).unwrap();
    let text = format!("This is session number {number}. {}", "Look at the code. ".repeat(100));
    let event = Event::UserSubmitted { content: vec![ContentBlock::Text(text)], pinned: false };
    let ended = RunEndedNote {
        terminal: Terminal::Completed,
        turns: 3,
        messages: 7,
        cost: MicroUsd(12_345),
        deferred: false,
    };
    let items = [NewRecordItem::Event(&event), NewRecordItem::Note(&JournalNote::Ended(ended))];
    writer.append_items(1_700_000_100_000 + number, &items).unwrap();
}
