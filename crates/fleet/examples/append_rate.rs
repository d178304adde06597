//! Measures appends per second and append latency of a store: `append_rate URL`. The store must be
//! migrated. Measures local journal files for comparison.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_fleet::postgres_journal_store::PostgresJournalStore;
use windlass_journal::{
    Durability, FileJournalStore, JournalHead, JournalNote, JournalStore, NewRecordItem,
};
use windlass_vocabulary::SessionId;

type MeasureError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), MeasureError> {
    let url = std::env::args().nth(1).ok_or("name the store: postgres://…")?;
    let folder = std::env::temp_dir().join(format!("append_rate-{}", std::process::id()));
    let files = Arc::new(FileJournalStore::new(&folder, Durability::Synced));
    let postgres = Arc::new(PostgresJournalStore::open(&url, Duration::from_secs(600))?);
    for writers in [1, 8] {
        measure("files", &(Arc::clone(&files) as Arc<dyn JournalStore>), writers)?;
        measure("postgres", &(Arc::clone(&postgres) as Arc<dyn JournalStore>), writers)?;
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Appends to one session in each of `writers` threads.
fn measure(name: &str, store: &Arc<dyn JournalStore>, writers: u32) -> Result<(), MeasureError> {
    let began = Instant::now();
    let mut threads = Vec::new();
    for number in 0..writers {
        let store = Arc::clone(store);
        let id = format!("rate-{}-{writers}-{number}", std::process::id());
        threads.push(std::thread::spawn(move || append(&*store, &SessionId::from(id.as_str()))));
    }
    let mut times = Vec::new();
    for thread in threads {
        times.extend(thread.join().map_err(|_| "a writer panicked")??);
    }
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    let rate = f64::from(u32::try_from(times.len())?) / seconds;
    println!(
        "{name}, {writers} sessions: {rate:.0} appends/s, median {:?}, p99 {:?}",
        at(50),
        at(99)
    );
    Ok(())
}

fn append(store: &dyn JournalStore, session: &SessionId) -> Result<Vec<Duration>, MeasureError> {
    let claimed = store.claim(session, &JournalHead::default())?;
    let note = JournalNote::Titled("x".repeat(500));
    let mut times = Vec::new();
    for seq in 0..APPENDS {
        let began = Instant::now();
        store.append(&claimed, seq, 1, &[NewRecordItem::Note(&note)])?;
        times.push(began.elapsed());
    }
    store.release(&claimed);
    Ok(times)
}

const APPENDS: u64 = 1000;
