//! The store alone: the contract of journals, its schema, what it refuses.

use std::time::Duration;

use windlass_fleet::postgres_journal_store::PostgresJournalStore;
use windlass_fleet::store::{FleetStore, StoreError};
use windlass_journal::{JournalError, JournalHead, JournalStore};
use windlass_vocabulary::SessionId;

use crate::postgres::TestPostgres;
use crate::store_conformance::{check_store, numbers, put};

pub(crate) fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

pub(crate) fn migrate(postgres: &TestPostgres) {
    block_on(async {
        let store = FleetStore::connect(&postgres.url(), 2).await.unwrap();
        store.migrate().await.unwrap();
        store.close().await;
    });
}

#[test]
fn postgres_passes_what_every_store_must() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    let lease = Duration::from_secs(600);
    let first = PostgresJournalStore::open(&postgres.url(), lease).unwrap();
    let second = PostgresJournalStore::open(&postgres.url(), lease).unwrap();
    check_store(&first, &second, &SessionId::from("one"));

    // A holder that was killed or frozen past its lease: the next one takes over, and what the old
    // one still writes is refused.
    let session = SessionId::from("two");
    let frozen = PostgresJournalStore::open(&postgres.url(), Duration::from_millis(1)).unwrap();
    let old = frozen.claim(&session, &JournalHead::default()).unwrap();
    put(&frozen, &old, 0).unwrap();
    postgres.wait_for("select count(*) from windlass.workers where lease_until < now()", "1");
    let new = second.claim(&session, &JournalHead::default()).unwrap();
    assert_eq!((new.epoch, new.seq), (2, 1));
    assert!(matches!(put(&frozen, &old, 1), Err(JournalError::Fenced { ours: 1, current: 2 })));
    assert!(matches!(frozen.renew(&old), Err(JournalError::Fenced { .. })));
    assert_eq!(put(&second, &new, 1).unwrap(), 2);
    assert_eq!(numbers(&frozen, &session, 0), [1, 2]);
}

#[test]
fn only_a_store_of_ours_and_of_this_version_is_used() {
    let Some(postgres) = TestPostgres::start() else { return };
    let open = || block_on(async { FleetStore::open(&postgres.url(), 1).await.map(drop) });
    assert!(matches!(open(), Err(StoreError::Missing)));
    postgres.query("create schema windlass; create table windlass.store (name text)");
    assert!(matches!(open(), Err(StoreError::NotOurs)));
    let migrated =
        block_on(async { FleetStore::connect(&postgres.url(), 1).await.unwrap().migrate().await });
    assert!(matches!(migrated, Err(StoreError::NotOurs)), "{migrated:?}");
    postgres.query("drop schema windlass cascade");
    migrate(&postgres);
    migrate(&postgres);
    open().unwrap();
    postgres.query("update windlass.store set version = 99");
    assert!(matches!(open(), Err(StoreError::Newer(99))));
    for url in ["mysql://x", "postgres://", "postgres://windlass@127.0.0.1:1/w"] {
        let refused = block_on(FleetStore::connect(url, 1)).unwrap_err().to_string();
        assert!(refused.contains("--store"), "{refused}");
    }
    let other = format!("{}one", postgres.url().trim_end_matches('w'));
    let refused = block_on(FleetStore::connect(&other, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::NoDatabase(_)), "{refused}");
}
