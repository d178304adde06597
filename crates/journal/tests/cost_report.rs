//! What sessions cost, summed in every way people ask for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test says no")]

mod session_fixtures;

use std::path::Path;

use session_fixtures::conversation;
use windlass_journal::session_catalogue::fork_journal;
use windlass_journal::{
    CostReport, CostTotals, Durability, JournalHead, JournalNote, JournalOpenOptions,
    JournalWriter, NewRecordItem, SessionCatalogue, cost_report,
};
use windlass_vocabulary::{MicroUsd, Tokens, Usage};

const DAY: u64 = 86_400_000;

#[test]
fn every_request_is_counted_once_by_day_model_and_project() {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = SessionCatalogue::new(directory.path());
    let mut paths = Vec::new();
    for (number, project) in ["/a", "/a", "/b"].into_iter().enumerate() {
        let id = format!("session-{number}");
        let path = catalogue.journal_path(Path::new(project), &id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut opening = JournalOpenOptions::new(Durability::Written);
        opening.head = JournalHead {
            session: Some(id.as_str().into()),
            project: Some(project.into()),
            ..JournalHead::default()
        };
        let mut writer = JournalWriter::open_without_replay(&path, opening).unwrap();
        for (events, mut notes) in conversation("say \"billed\" {\"note\":{\"billed\":") {
            for note in &mut notes {
                if let JournalNote::Billed(row) = note
                    && number == 2
                {
                    row.model = "other".into();
                    row.cache_miss = Some("expired".into());
                }
            }
            let items = events
                .iter()
                .map(NewRecordItem::Event)
                .chain(notes.iter().map(NewRecordItem::Note));
            let at = DAY * (20_000 + number as u64 / 2);
            writer.append_items(at, &items.collect::<Vec<_>>()).unwrap();
        }
        paths.push(path);
    }
    // What a fork took over is paid for already.
    let copy = catalogue.journal_path(Path::new("/a"), "copy");
    fork_journal(&paths[0], None, &copy, &"copy".into(), None, DAY * 30_000).unwrap();
    let (account, unread) = cost_report::load_all_costs(&catalogue, None).unwrap();
    assert_eq!(unread, [""; 0].map(std::path::PathBuf::from));
    let one = |sessions: u64, misses: u64| CostTotals {
        requests: 2 * sessions,
        usage: Usage {
            input: Tokens(200 * sessions),
            output: Tokens(40 * sessions),
            ..Usage::default()
        },
        cost: MicroUsd(1_500 * sessions),
        kept: MicroUsd(0),
        cache_misses: misses,
    };
    assert_eq!(account.all, one(3, 2));
    let days: Vec<_> = account.days.into_iter().collect();
    assert_eq!(days, [("2024-10-04".into(), one(2, 0)), ("2024-10-05".into(), one(1, 2))]);
    let models: Vec<_> = account.models.into_iter().collect();
    assert_eq!(models, [("model".into(), one(2, 0)), ("other".into(), one(1, 2))]);
    let projects: Vec<_> = account.projects.into_iter().collect();
    assert_eq!(projects, [("/a".into(), one(2, 0)), ("/b".into(), one(1, 2))]);
    let (part, _) = cost_report::load_all_costs(&catalogue, Some(Path::new("/b"))).unwrap();
    assert_eq!(part.all, one(1, 2));
    // A fork's own requests are those after the fork; it has made none.
    assert_eq!(cost_report::load_requests(&copy).unwrap(), []);
    let rows = cost_report::load_requests(&paths[0]).unwrap();
    assert_eq!(CostReport::from_requests(&rows, None).all, one(1, 0));
    assert_eq!(rows[0].row.prices.as_deref(), Some("2026-11"));
}
