//! Money, limits and age: what a batch may spend, what runs at once, and what is removed.

use std::time::Duration;

use windlass_fleet::store::{
    AppendRequest, ClaimEnd, ClaimedRow, FleetStore, LimitKind, NewBatch, NewSession,
};

use windlass_journal::store::journal_lines::encode_group_line;
use windlass_journal::{BilledRow, JournalNote, NewRecordItem};
use windlass_rehearsal::{Script, ScriptedAnswer};
use windlass_vocabulary::{AgentId, MicroUsd, ModelName, RequestSource, SessionId, Tokens, Usage};

use crate::fixture::TestFleet;
use crate::gateway::printed;
use crate::postgres::TestPostgres;
use crate::store::{block_on, limits, migrate, new_session};

const LONG: Duration = Duration::from_secs(600);

fn in_batch(number: u32, tenant: &str, budget_micro: Option<u64>) -> NewSession {
    let row = i32::try_from(number).unwrap();
    NewSession {
        batch: Some((format!("{tenant}/night"), row)),
        ..new_session(number, tenant, budget_micro)
    }
}

fn batch(tenant: &'static str, id: &'static str, budget_micro: Option<u64>) -> NewBatch<'static> {
    NewBatch { id, tenant, name: "night", budget_micro }
}

async fn reason_of(store: &FleetStore, number: u32) -> String {
    let id = new_session(number, "", None).id;
    store.read_session(&id).await.unwrap().unwrap().reason.unwrap_or_default()
}

/// The record of a model call with this cost, as a journal has it.
fn costing_line(seq: u64, micro: u64) -> Vec<u8> {
    let row = BilledRow {
        agent: AgentId::from("main"),
        model: ModelName::from("m"),
        source: RequestSource::Main,
        predicted: Tokens(0),
        predicted_read: Tokens(0),
        billed: Usage::default(),
        cost: MicroUsd(micro),
        kept: MicroUsd(0),
        prices: None,
        cache_miss: None,
    };
    let note = JournalNote::Billed(row);
    let session = SessionId::from("x");
    encode_group_line(&session, seq + 1, 0, 1, &[NewRecordItem::Note(&note)]).unwrap()
}

/// A batch has a budget of its own within its tenant's; a session that a budget does not cover waits
/// and says for which.
#[test]
fn a_batch_spends_no_more_than_its_budget_and_says_why_its_sessions_wait() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        store.put_tenant("team", &limits(Some(10_000_000), None)).await.unwrap();
        store.add_batch(batch("team", "team/night", Some(5_000_000))).await.unwrap();
        // The same name again keeps the budget.
        store.add_batch(batch("team", "team/night", None)).await.unwrap();
        let refused = store.submit_session(&in_batch(9, "team", None)).await.unwrap_err();
        assert!(refused.to_string().contains("max_budget_usd"), "{refused}");
        for number in 1..=3 {
            store.submit_session(&in_batch(number, "team", Some(2_000_000))).await.unwrap();
        }
        store.submit_session(&new_session(4, "team", Some(7_000_000))).await.unwrap();
        store.register_worker("w", "host", 100, LONG).await.unwrap();
        let mut claimed = Vec::new();
        while let Some(row) = store.claim_session("w", 5).await.unwrap() {
            claimed.push(row);
        }
        assert_eq!(claimed.len(), 2);
        assert_eq!(
            reason_of(&store, 3).await,
            "waits for the budget of batch team/night: needs $2.00, $1.00 left"
        );
        assert_eq!(
            reason_of(&store, 4).await,
            "waits for the budget of tenant team: needs $7.00, $6.00 left"
        );
        let listed = &store.list_batches(Some("team")).await.unwrap()[0];
        assert_eq!((listed.reserved_micro, listed.sessions, listed.ended), (4_000_000, 3, 0));
        // What its session does not need any more is there for the next.
        let end = ClaimEnd { state: "parked", is_orderly: true, ..ClaimEnd::default() };
        let first = &claimed[0];
        assert!(store.end_claim(&first.id, first.epoch, "w", &end).await.unwrap());
        assert!(store.claim_session("w", 5).await.unwrap().is_some());
        // A budget that came after its sessions covers none without a bound of its own.
        store.put_tenant("late", &limits(None, None)).await.unwrap();
        store.submit_session(&new_session(5, "late", None)).await.unwrap();
        store.put_tenant("late", &limits(Some(1), None)).await.unwrap();
        assert!(store.claim_session("w", 5).await.unwrap().is_none());
        let reason = reason_of(&store, 5).await;
        assert!(reason.contains("tenant late has a budget"), "{reason}");
        // A higher one lets them go on.
        store.add_batch(batch("team", "team/night", Some(6_000_000))).await.unwrap();
        store.put_tenant("team", &limits(Some(20_000_000), None)).await.unwrap();
        assert!(store.claim_session("w", 5).await.unwrap().is_some());
    });
}

/// Claims, records, ends and losses of workers in any order: neither budget is passed, and the sums are
/// those of the sessions.
#[test]
fn no_budget_is_passed_whatever_dies() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    let sums = "select bool_and(t.spent_micro + t.reserved_micro <= t.budget_micro), \
         (select bool_and(b.spent_micro + b.reserved_micro <= b.budget_micro) from windlass.batches b), \
         (select coalesce(sum(cost_micro), 0) from windlass.sessions) = sum(t.spent_micro), \
         (select sum(spent_micro) from windlass.batches) = sum(t.spent_micro), \
         (select coalesce(sum(reserved_micro), 0) from windlass.sessions) = sum(t.reserved_micro), \
         (select sum(reserved_micro) from windlass.batches) = sum(t.reserved_micro) \
         from windlass.tenants t where t.budget_micro is not null";
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        store.put_tenant("team", &limits(Some(9_000), None)).await.unwrap();
        store.add_batch(batch("team", "team/night", Some(7_000))).await.unwrap();
        for number in 0..12 {
            store.submit_session(&in_batch(number, "team", Some(1_500))).await.unwrap();
        }
        let mut claimed: Vec<(String, ClaimedRow)> = Vec::new();
        let mut seed = 7_u64;
        let mut workers = 0;
        let mut worker = String::new();
        for step in 0..250 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let dice = seed >> 33;
            let pick = usize::try_from(dice / 16).unwrap() % claimed.len().max(1);
            match dice % 16 {
                _ if worker.is_empty() => {
                    workers += 1;
                    worker = format!("w{workers}");
                    store.register_worker(&worker, "host", 100, LONG).await.unwrap();
                }
                0..5 => {
                    if let Some(row) = store.claim_session(&worker, 1_000).await.unwrap() {
                        claimed.push((worker.clone(), row));
                    }
                }
                5..13 => {
                    let Some((holder, row)) = claimed.get(pick) else { continue };
                    // A session stays within its bound, over all its claims.
                    let spent =
                        store.read_session(&row.id).await.unwrap().unwrap().money.cost_micro;
                    let left = 1_500 - u64::try_from(spent).unwrap();
                    let bytes = costing_line(step, (dice % 400).min(left));
                    let request = AppendRequest {
                        session: &row.id,
                        epoch: row.epoch,
                        worker: holder,
                        file: "session.jsonl",
                        position: None,
                        expected_seq: None,
                        bytes: &bytes,
                    };
                    // Refused if the claim was lost meanwhile.
                    let _ = store.append_journal(request).await;
                }
                13 => {
                    if claimed.is_empty() {
                        continue;
                    }
                    let (holder, row) = claimed.swap_remove(pick);
                    let end = ClaimEnd { state: "queued", is_orderly: true, ..ClaimEnd::default() };
                    store.end_claim(&row.id, row.epoch, &holder, &end).await.unwrap();
                }
                14 => {
                    let kept: Vec<_> = claimed
                        .iter()
                        .skip(1)
                        .map(|(_, row)| (row.id.clone(), row.epoch))
                        .collect();
                    store.give_back_sessions(&worker, &kept, 1_000).await.unwrap();
                }
                _ => {
                    // Dies with all it has; the next claim finds that out.
                    postgres.query(&format!(
                        "update windlass.workers set lease_until = now() where id = '{worker}'"
                    ));
                    worker.clear();
                }
            }
            assert_eq!(postgres.query(sums), "t|t|t|t|t|t", "step {step}");
        }
        let spent = postgres.query("select spent_micro > 1000 from windlass.batches");
        assert_eq!(spent, "t");
    });
}

/// Sessions of one repository and of one provider are limited, whichever tenants they are of.
#[test]
fn repositories_and_providers_are_limited_over_all_tenants() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        for name in ["loud", "quiet", "poor"] {
            store.put_tenant(name, &limits(None, None)).await.unwrap();
        }
        store.put_limit(LimitKind::Repository, "https://example.org/one", Some(1)).await.unwrap();
        store.put_limit(LimitKind::Provider, "slow", Some(2)).await.unwrap();
        let git = |url: &str| format!(r#"{{"workspace":{{"git":"{url}"}}}}"#);
        let slow = r#"{"model":"slow/m"}"#.to_owned();
        for (number, tenant, spec) in [
            (1, "loud", git("https://example.org/one.git")),
            (2, "quiet", git("https://example.org/one/")),
            (3, "loud", slow.clone()),
            (4, "quiet", slow.clone()),
            (5, "poor", slow.clone()),
            (6, "poor", git("https://example.org/two")),
        ] {
            let session = NewSession { spec, ..new_session(number, tenant, None) };
            store.submit_session(&session).await.unwrap();
        }
        store.register_worker("w", "host", 100, LONG).await.unwrap();
        let mut claimed = Vec::new();
        while let Some(row) = store.claim_session("w", 5).await.unwrap() {
            claimed.push(row);
        }
        let mut numbers: Vec<&str> =
            claimed.iter().map(|row| &row.id[row.id.len() - 1..]).collect();
        numbers.sort_unstable();
        let of = |kind: &[&'static str]| -> usize {
            numbers.iter().filter(|number| kind.contains(number)).count()
        };
        assert_eq!((of(&["1", "2"]), of(&["3", "4", "5"]), of(&["6"])), (1, 2, 1), "{numbers:?}");
        let waiting = postgres.query(
            "select windlass.explain_wait(sessions) from windlass.sessions where state = 'queued' \
             order by provider",
        );
        let waiting: Vec<&str> = waiting.lines().collect();
        assert!(waiting[0].contains("the repository has 1 sessions"), "{waiting:?}");
        assert!(waiting[1].contains("the provider has 2 sessions"), "{waiting:?}");
        // Without the limits they run.
        store.put_limit(LimitKind::Repository, "https://example.org/one", None).await.unwrap();
        store.put_limit(LimitKind::Provider, "slow", Some(3)).await.unwrap();
        for _ in 0..2 {
            assert!(store.claim_session("w", 5).await.unwrap().is_some());
        }
        assert_eq!(store.list_limits().await.unwrap().len(), 1);
    });
}

/// What ended long ago is removed with all that belongs to it, and nothing else.
#[test]
fn sessions_that_ended_long_ago_are_removed() {
    let script = Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let worker = fleet.start_worker("one", &[]);
    for number in 1..=5 {
        let id = fleet.submit(number, "go");
        fleet.wait_for_state(&id, "done");
    }
    worker.kill();
    fleet.submit(6, "wait");
    let old = |numbers: &str, state: &str| {
        fleet.postgres.query(&format!(
            "update windlass.sessions set state = '{state}', updated = now() - interval '31 days' \
             where right(id, 2)::int in ({numbers})"
        ));
    };
    old("1, 2", "done");
    old("3", "parked");
    old("4", "idle");
    old("6", "queued");
    let clean = |more: &[&str]| fleet.run(&[&["store", "clean"][..], more].concat());
    let left = "select string_agg(right(id, 1), '' order by id) from windlass.sessions";
    for wrong in ["30", "d", "0d", "-1d", "30 d", "1y", "99999999999d", "30dd", "d30"] {
        let refused = clean(&["--older-than", wrong]);
        let line = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && line.lines().count() == 1, "{wrong}: {line}");
    }
    let said = printed(&clean(&["--older-than", "30d", "--dry-run"]));
    assert!(said.contains("team  done: 2") && said.contains("2 sessions would be"), "{said}");
    assert_eq!(fleet.postgres.query(left), "123456");
    assert!(printed(&clean(&["--older-than", "30d", "--tenant", "other"])).contains("0 sessions"));
    assert_eq!(fleet.postgres.query(left), "123456");
    assert!(printed(&clean(&["--older-than", "30d"])).contains("2 sessions were removed"));
    assert_eq!(fleet.postgres.query(left), "3456");
    let rows = "select (select count(distinct session) from windlass.journal), \
         (select count(distinct session) from windlass.events), \
         (select count(distinct session) from windlass.messages)";
    assert_eq!(fleet.postgres.query(rows), "3|3|4");
    assert!(printed(&clean(&["--older-than", "30d", "--parked"])).contains("1 sessions were"));
    assert_eq!(fleet.postgres.query(left), "456");
}

/// Limits are set, listed and removed by command.
#[test]
fn limits_are_set_by_command() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let limit = |more: &[&str]| fleet.run(&[&["store", "limit"][..], more].concat());
    assert!(printed(&limit(&[])).contains("no limits"));
    printed(&limit(&["repository", "https://example.org/one.git", "--running", "2"]));
    let said = printed(&limit(&["provider", "default", "--running", "7"]));
    assert_eq!(
        said,
        "provider default: at most 7 sessions at once\n\
         repository https://example.org/one: at most 2 sessions at once"
    );
    assert!(!printed(&limit(&["provider", "default", "--remove"])).contains("provider"));
    for wrong in [&["provider", "x"][..], &["provider"], &["host", "x", "--running", "1"]] {
        let refused = limit(wrong);
        let line = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && line.lines().count() == 1, "{wrong:?}: {line}");
    }
}
