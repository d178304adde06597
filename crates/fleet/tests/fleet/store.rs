//! The store alone: the journal store contract, its schema, and what it refuses.

use std::time::Duration;

use sqlx::Connection;
use windlass_fleet::postgres_journal_store::PostgresJournalStore;
use windlass_fleet::store::{ClaimEnd, FleetStore, NewBatch, NewSession, StoreError, TenantChange};
use windlass_journal::{JournalError, JournalHead, JournalStore};
use windlass_vocabulary::SessionId;

use crate::fixture::until;
use crate::postgres::TestPostgres;
use crate::store_conformance::{
    check_killed_and_frozen_writers, check_store, find_writer_session, numbers, put,
    write_until_lost,
};

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
fn postgres_passes_when_writers_are_killed_or_frozen() {
    const PLACE: &str = "WINDLASS_TEST_STORE";
    let lease = Duration::from_secs(2);
    if let (Ok(url), Some(session)) = (std::env::var(PLACE), find_writer_session()) {
        return write_until_lost(&PostgresJournalStore::open(&url, lease).unwrap(), &session);
    }
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    let store = PostgresJournalStore::open(&postgres.url(), Duration::from_secs(600)).unwrap();
    let test = "store::postgres_passes_when_writers_are_killed_or_frozen";
    check_killed_and_frozen_writers(&store, test, PLACE, &postgres.url(), true);
}

#[test]
fn postgres_passes_what_every_store_must() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    let lease = Duration::from_secs(600);
    let first = PostgresJournalStore::open(&postgres.url(), lease).unwrap();
    let second = PostgresJournalStore::open(&postgres.url(), lease).unwrap();
    check_store(&first, &second, &SessionId::from("one"));
    // More sessions than one statement of a search looks at, older and newer than those with the words.
    let many = "insert into windlass.sessions (id, tenant, state, spec, created) select 'x' || n, \
        'local', 'idle', '{}', now() + (n - 250) * interval '1 hour' from generate_series(1, 500) n";
    postgres.query(many);
    assert_eq!(first.search("LIFTS", 10).unwrap().len(), 2);
    assert_eq!(first.search("\u{dc}n", 10).unwrap().len(), 1);

    // A holder that was killed or frozen past its lease: the next one takes over, and further
    // writes of the old one are refused.
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

pub(crate) fn limits(budget_micro: Option<u64>, running_max: Option<u32>) -> TenantChange {
    TenantChange { budget_micro, running_max, ..TenantChange::default() }
}

/// The tenant of a session, by the numbers the test below assigns.
fn tenant_of(session: &str) -> &'static str {
    match session[24..].parse::<u32>().unwrap() {
        0..50 => "loud",
        50..60 => "quiet",
        _ => "poor",
    }
}

pub(crate) fn new_session(number: u32, tenant: &str, budget_micro: Option<u64>) -> NewSession {
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

/// F10 and money: a tenant that floods the queue gets no more than its turns, and no tenant runs
/// more sessions or reserves more money than it may, whichever worker claims.
#[test]
fn claims_are_shared_fairly_and_within_limits_and_budgets() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 8).await.unwrap();
        store.put_tenant("loud", &limits(None, Some(3))).await.unwrap();
        store.put_tenant("quiet", &limits(None, None)).await.unwrap();
        store.put_tenant("poor", &limits(Some(5_000_000), None)).await.unwrap();
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
        let tenants: Vec<&str> = claimed.iter().map(|row| tenant_of(&row.id)).collect();
        let count = |name: &str| tenants.iter().filter(|tenant| **tenant == name).count();
        assert_eq!((count("loud"), count("quiet"), count("poor")), (3, 2, 2), "{tenants:?}");
        let last_quiet = tenants.iter().rposition(|tenant| *tenant == "quiet").unwrap();
        assert!(last_quiet < 6, "it waits for its turn alone: {tenants:?}");

        // A released reservation can be reserved again; spent money cannot.
        let poor = claimed.iter().find(|row| tenant_of(&row.id) == "poor").unwrap();
        let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
        assert!(store.end_claim(&poor.id, poor.epoch, "w", &end).await.unwrap());
        assert!(!store.end_claim(&poor.id, poor.epoch, "w", &end).await.unwrap());
        let next = store.claim_session("w", 5).await.unwrap().unwrap();
        assert_eq!(tenant_of(&next.id), "poor");
        assert!(store.claim_session("w", 5).await.unwrap().is_none());
        let row = store.read_tenant("poor").await.unwrap().unwrap();
        assert_eq!((row.money.spent_micro, row.money.reserved_micro), (0, 4_000_000));
    });
}

/// F10: a tenant cannot get ahead of others by age or priority, even if few sessions run at once.
#[test]
fn tenants_take_turns_when_one_session_runs_at_a_time() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        for name in ["loud", "quiet"] {
            store.put_tenant(name, &limits(None, None)).await.unwrap();
        }
        for number in 0..20 {
            let loud = NewSession { priority: 1000, ..new_session(number, "loud", None) };
            store.submit_session(&loud).await.unwrap();
        }
        for number in 50..53 {
            store.submit_session(&new_session(number, "quiet", None)).await.unwrap();
        }
        store.register_worker("w", "host", 1, Duration::from_secs(600)).await.unwrap();
        let mut turns = Vec::new();
        for _ in 0..6 {
            let row = store.claim_session("w", 5).await.unwrap().unwrap();
            let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
            // Its first message is in no journal here, and would requeue it.
            postgres.query("update windlass.messages set is_taken = true");
            assert!(store.end_claim(&row.id, row.epoch, "w", &end).await.unwrap());
            turns.push(tenant_of(&row.id));
        }
        let quiet = turns.iter().filter(|tenant| **tenant == "quiet").count();
        assert_eq!(quiet, 3, "{turns:?}");
    });
}

/// A session is cancelled while it is claimed: it does not run, and nothing stays reserved for it.
#[test]
fn a_cancel_under_way_leaves_no_reservation() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    let claimed = block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        store.put_tenant("poor", &limits(Some(5_000_000), None)).await.unwrap();
        store.submit_session(&new_session(1, "poor", Some(2_000_000))).await.unwrap();
        store.register_worker("w", "host", 1, Duration::from_secs(600)).await.unwrap();
        let mut other = sqlx::PgConnection::connect(&postgres.url()).await.unwrap();
        let cancel = "begin; update windlass.sessions set state = 'cancelled', is_cancelled = true";
        sqlx::raw_sql(cancel).execute(&mut other).await.unwrap();
        let url = postgres.url();
        let claim = std::thread::spawn(move || {
            block_on(async {
                FleetStore::open(&url, 1).await.unwrap().claim_session("w", 5).await.unwrap()
            })
        });
        // The claim has ended, or waits for the lock that the cancel holds.
        let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        until("the claim has looked", || claim.is_finished() || postgres.query(waits) == "1");
        sqlx::raw_sql("commit").execute(&mut other).await.unwrap();
        claim.join().unwrap()
    });
    assert_eq!(claimed, None);
    let row = "select state, (select reserved_micro from windlass.tenants where id = 'poor') \
        from windlass.sessions";
    assert_eq!(postgres.query(row), "cancelled|0");
}

/// A worker holds only what it says it runs: a claim whose response was lost, and an older claim of
/// the same session, are given back.
#[test]
fn what_a_worker_does_not_run_goes_back() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        store.put_tenant("loud", &limits(None, None)).await.unwrap();
        for number in 0..3 {
            store.submit_session(&new_session(number, "loud", None)).await.unwrap();
        }
        store.register_worker("w", "host", 3, Duration::from_secs(600)).await.unwrap();
        let mut rows = Vec::new();
        while let Some(row) = store.claim_session("w", 5).await.unwrap() {
            rows.push((row.id, row.epoch));
        }
        let runs = [rows[0].clone(), (rows[1].0.clone(), rows[1].1 - 1)];
        assert_eq!(store.give_back_sessions("w", &runs, 5).await.unwrap(), 2);
        let renewed = store.renew_worker("w", Duration::from_secs(600), false).await.unwrap();
        let held: Vec<String> = renewed.unwrap().held.into_iter().map(|one| one.id).collect();
        assert_eq!(held, [rows[0].0.clone()]);
        assert_eq!(
            postgres.query("select count(*) from windlass.sessions where state = 'queued'"),
            "2"
        );
    });
}

/// F9: a store of a previous version is migrated with its contents. Its tenants are not trusted, and
/// workers of that version get no new sessions.
#[test]
fn a_store_of_the_version_before_is_migrated() {
    let Some(postgres) = TestPostgres::start() else { return };
    postgres.query(include_str!("../../src/store/schema_1.sql"));
    postgres.query("insert into windlass.tenants (id) values ('team')");
    let older = || block_on(async { FleetStore::open(&postgres.url(), 1).await.map(drop) });
    assert!(matches!(older(), Err(StoreError::Older(1))), "{:?}", older());
    postgres.query(include_str!("../../src/store/schema_2.sql"));
    postgres.query("update windlass.store set version = 2");
    assert!(matches!(older(), Err(StoreError::Older(2))), "{:?}", older());
    // A batch with a session that runs, one that has ended, and a question.
    postgres.query(
        "insert into windlass.batches (id, tenant, name) values ('team/b', 'team', 'b'); \
         insert into windlass.workers (id, host, pid, capacity, lease_until) \
         values ('old', 'h', 1, 1, now() + interval '1 hour'); \
         select windlass.submit_session('one', 'team', 'team/b', 1, 0, \
         '{\"workspace\":{\"git\":\"https://example.org/a.git\"}}', null, 500, 'go', 'me', ''); \
         select * from windlass.claim_session('old', 5, 2); \
         select * from windlass.append_journal('one', 1, 'old', 'session.jsonl', 0, null, 1, 'x', 200, '{}'); \
         insert into windlass.questions (session, request, epoch, body) values ('one', 'ask_1', 1, '{}'); \
         insert into windlass.back_offs values ('slow', now() + interval '1 hour')",
    );
    block_on(async {
        let store = FleetStore::connect(&postgres.url(), 2).await.unwrap();
        assert_eq!(store.migrate().await.unwrap(), 2);
        store.check_schema().await.unwrap();
        let tenant = store.read_tenant("team").await.unwrap().unwrap();
        assert!(!tenant.policy.is_trusted && tenant.policy.repositories.is_empty());
        assert!(tenant.policy.push_prefix.is_none());
        let batch = &store.list_batches(None).await.unwrap()[0];
        assert_eq!((batch.budget_micro, batch.spent_micro, batch.reserved_micro), (None, 200, 300));
        let repository = "select repository from windlass.sessions";
        assert_eq!(postgres.query(repository), "https://example.org/a");
        // A rate limit of before is that of all keys that are not known.
        assert_eq!(postgres.query("select provider, key from windlass.back_offs"), "slow|");
        // The worker of the version before finishes what it has: with its own calls.
        assert_eq!(store.list_questions("one").await.unwrap().len(), 1);
        postgres.query(
            "insert into windlass.questions (session, request, epoch, body) values ('one', 'ask_1', 1, \
             '{}') on conflict (session, request) do update set epoch = 1, answer = null; \
             delete from windlass.questions where session = 'one' and request = 'ask_1'; \
             select * from windlass.append_journal('one', 1, 'old', 'session.jsonl', 1, null, 2, 'y', 100, '{one}'); \
             select windlass.end_claim('one', 1, 'old', 'done', null, '{}', true, 0)",
        );
        let batch = &store.list_batches(None).await.unwrap()[0];
        assert_eq!((batch.spent_micro, batch.reserved_micro, batch.ended), (300, 0, 1));
        store.submit_session(&new_session(1, "team", None)).await.unwrap();
        assert_eq!(postgres.query("select count(*) from windlass.claim_session('old', 5)"), "0");
        assert_eq!(postgres.query("select count(*) from windlass.claim_session('old', 5, 2)"), "0");
        assert!(store.claim_session("old", 5).await.unwrap().is_some());
    });
}

/// A tenant whose name has a slash reaches no batch of another one.
#[test]
fn a_batch_belongs_to_its_tenant_alone() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 1).await.unwrap();
        for tenant in ["a", "a/b"] {
            store.put_tenant(tenant, &TenantChange::default()).await.unwrap();
        }
        let id = "a/b/c";
        let batch = |tenant, name| NewBatch { id, tenant, name, budget_micro: Some(7) };
        store.add_batch(batch("a", "b/c")).await.unwrap();
        let refused = store.add_batch(batch("a/b", "c")).await.unwrap_err();
        assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
        store.add_batch(batch("a", "b/c")).await.unwrap();
    });
}
