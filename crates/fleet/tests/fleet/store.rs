//! The store alone: the contract of journals, its schema, what it refuses.

use std::time::Duration;

use windlass_fleet::postgres_journal_store::PostgresJournalStore;
use windlass_fleet::store::{ClaimEnd, FleetStore, NewSession, StoreError};
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

fn new_session(number: u32, tenant: &str, budget_micro: Option<u64>) -> NewSession {
    NewSession {
        id: format!("00000000-0000-4000-8000-{number:012}"),
        tenant: tenant.to_owned(),
        batch: None,
        priority: 0,
        spec: "{}".to_owned(),
        title: None,
        budget_micro,
        content: "go".to_owned(),
        sender: "test".to_owned(),
    }
}

/// F10 and money: a tenant that floods the queue takes no more than its turn, and no tenant runs more or
/// reserves more than it may, whoever claims.
#[test]
fn claims_are_shared_fairly_and_within_limits_and_budgets() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 8).await.unwrap();
        store.put_tenant("loud", None, Some(3)).await.unwrap();
        store.put_tenant("quiet", None, None).await.unwrap();
        store.put_tenant("poor", Some(5_000_000), None).await.unwrap();
        for number in 0..50 {
            store.submit_session(&new_session(number, "loud", None)).await.unwrap();
        }
        for number in 50..52 {
            store.submit_session(&new_session(number, "quiet", None)).await.unwrap();
        }
        for number in 60..70 {
            let session = new_session(number, "poor", Some(2_000_000));
            store.submit_session(&session).await.unwrap();
        }
        let refused = store.submit_session(&new_session(99, "poor", None)).await.unwrap_err();
        assert!(refused.to_string().contains("max_budget_usd"), "{refused}");
        store.register_worker("w", "host", 100, Duration::from_secs(600)).await.unwrap();
        let mut claimed = Vec::new();
        while let Some(row) = store.claim_session("w", 5).await.unwrap() {
            claimed.push(row);
        }
        let tenants: Vec<&str> = claimed.iter().map(|row| row.tenant.as_str()).collect();
        let count = |name: &str| tenants.iter().filter(|tenant| **tenant == name).count();
        assert_eq!((count("loud"), count("quiet"), count("poor")), (3, 2, 2), "{tenants:?}");
        let last_quiet = tenants.iter().rposition(|tenant| *tenant == "quiet").unwrap();
        assert!(last_quiet < 6, "it waits for its turn alone: {tenants:?}");

        // What is given back can be reserved again; what was spent cannot.
        let poor = claimed.iter().find(|row| row.tenant == "poor").unwrap();
        let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
        assert!(store.end_claim(&poor.id, poor.epoch, "w", &end).await.unwrap());
        assert!(!store.end_claim(&poor.id, poor.epoch, "w", &end).await.unwrap());
        let next = store.claim_session("w", 5).await.unwrap().unwrap();
        assert_eq!(next.tenant, "poor");
        assert!(store.claim_session("w", 5).await.unwrap().is_none());
        let row = store.read_tenant("poor").await.unwrap().unwrap();
        assert_eq!((row.spent_micro, row.reserved_micro), (0, 4_000_000));
    });
}
