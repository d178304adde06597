-- What the sessions of a tenant may do, and when it had its last turn.
alter table windlass.tenants
    add column is_trusted boolean not null default false,
    add column repositories text[] not null default '{}',
    add column claimed timestamptz;
-- The commit that the first host checked out. Later hosts take the same one, wherever a branch is by then.
alter table windlass.sessions add column base_commit text;
-- Whom its model is asked at; how often in a row it waited for that one, and what it had cost then.
alter table windlass.sessions
    add column provider text not null default '',
    add column waits int not null default 0,
    add column waited_cost bigint not null default 0;
-- Until when nobody asks a provider that limits the rate, whichever worker was told.
create table windlass.back_offs (provider text primary key, until timestamptz not null);

-- A session whose worker does not run it any more waits for another one, unless it took too many with it.
create function windlass.take_back_session(p_session text, p_attempts_max int) returns void
language plpgsql as $$
begin
    perform windlass.drop_reservation(p_session);
    update windlass.sessions set epoch = epoch + 1, worker = null, updated = now(),
        state = case when is_cancelled then 'cancelled'
            when attempts >= p_attempts_max then 'parked' else 'queued' end,
        reason = case when is_cancelled then 'cancelled' when attempts >= p_attempts_max
            then 'its worker was lost ' || attempts || ' times in a row' end
        where id = p_session;
    perform pg_notify('windlass_queue', '');
end $$;

create or replace function windlass.take_back_sessions(p_attempts_max int) returns bigint
language plpgsql as $$
declare v_id text; v_count bigint := 0;
begin
    for v_id in select s.id from windlass.sessions s
        left join windlass.workers w on w.id = s.worker
        where s.state = 'running' and (w.id is null or w.lease_until < now())
        for update of s skip locked
    loop
        perform windlass.take_back_session(v_id, p_attempts_max);
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;

-- What a worker holds and does not run: lost while it was away, or claimed by a call whose answer did
-- not reach it.
create function windlass.give_back_sessions(
    p_worker text, p_sessions text[], p_epochs bigint[], p_attempts_max int) returns bigint
language plpgsql as $$
declare v_id text; v_count bigint := 0;
begin
    for v_id in select s.id from windlass.sessions s
        where s.state = 'running' and s.worker = p_worker and not exists (
            select 1 from unnest(p_sessions, p_epochs) as own (id, epoch)
            where own.id = s.id and own.epoch = s.epoch)
        for update of s
    loop
        perform windlass.take_back_session(v_id, p_attempts_max);
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;

-- Workers of schema 1 finish what they have and get nothing new.
create or replace function windlass.claim_session(p_worker text, p_attempts_max int)
returns table (id text, epoch bigint, tenant text, spec text, attempts int) language plpgsql as $$
begin
    return;
end $$;

-- Gives a worker the next session: of the tenant that has the fewest running, and of those the one that
-- has waited longest for its turn; within it by priority and age. Claims stand in line behind one lock,
-- so that limits and budgets are exact. A worker of another schema gets nothing.
create function windlass.claim_session(p_worker text, p_attempts_max int, p_schema int)
returns table (id text, epoch bigint, spec text, attempts int, base_commit text,
    is_trusted boolean, repositories text[]) language plpgsql as $$
declare v_id text; v_tenant text; v_reserved bigint;
begin
    perform pg_advisory_xact_lock(5787213827046133840);
    perform windlass.take_back_sessions(p_attempts_max);
    perform 1 from windlass.workers w, windlass.store x
        where w.id = p_worker and w.lease_until > now() and not w.drains and x.version = p_schema;
    if not found then return; end if;
    select s.id, t.id, greatest(0, coalesce(s.budget_micro, 0) - s.cost_micro)
        into v_id, v_tenant, v_reserved
        from (select x.*, (select count(*) from windlass.sessions r
                where r.tenant = x.id and r.state = 'running') as running
                from windlass.tenants x) t
        cross join lateral (select q.* from windlass.sessions q
                where q.tenant = t.id and q.state = 'queued' and q.wake_at <= now()
                and (t.budget_micro is null or t.spent_micro + t.reserved_micro
                    + greatest(0, coalesce(q.budget_micro, 0) - q.cost_micro) <= t.budget_micro)
                and not exists (select 1 from windlass.back_offs b
                    where b.provider = q.provider and b.until > now())
                order by q.priority desc, q.created limit 1) s
        where t.running < t.running_max
        order by t.running, t.claimed nulls first, s.created limit 1;
    if v_id is null then return; end if;
    -- A cancel takes no lock of ours: from here on it waits for this row, or this claim is off.
    perform 1 from windlass.sessions s where s.id = v_id and s.state = 'queued'
        for update skip locked;
    if not found then return; end if;
    update windlass.tenants x set reserved_micro = x.reserved_micro + v_reserved,
        claimed = clock_timestamp() where x.id = v_tenant;
    update windlass.sessions s set state = 'running', epoch = s.epoch + 1,
        worker = p_worker, attempts = s.attempts + 1, claimed = now(), updated = now(),
        reserved_micro = v_reserved, reason = null where s.id = v_id;
    return query select s.id, s.epoch, s.spec, s.attempts, s.base_commit, x.is_trusted,
        x.repositories from windlass.sessions s join windlass.tenants x on x.id = s.tenant
        where s.id = v_id;
end $$;

-- Puts a session and its first message, which has the session's own id, into the queue.
create function windlass.submit_session(
    p_session text, p_tenant text, p_batch text, p_batch_row int, p_priority int, p_spec text,
    p_title text, p_budget bigint, p_content text, p_sender text, p_provider text) returns text
language plpgsql as $$
begin
    if p_batch is not null and not exists (select 1 from windlass.batches
            where id = p_batch and tenant = p_tenant) then
        return 'no batch';
    end if;
    insert into windlass.sessions (id, tenant, batch, batch_row, state, priority, spec, title,
        budget_micro, provider) values (p_session, p_tenant, p_batch, p_batch_row, 'idle',
        p_priority, p_spec, p_title, p_budget, p_provider) on conflict do nothing;
    if not found then return 'exists'; end if;
    perform windlass.add_message(p_session, p_session, p_content, p_sender);
    return 'added';
end $$;

-- Ends a claim, if it still holds, because its provider wants to be left alone: neither this session nor
-- others ask it before. One that waits again and again without an answer in between is parked.
create function windlass.back_off_session(
    p_session text, p_epoch bigint, p_worker text, p_reason text, p_millis bigint, p_waits_max int)
returns boolean language plpgsql as $$
declare v_provider text; v_waits int;
begin
    select provider, case when cost_micro > waited_cost then 1 else waits + 1 end
        into v_provider, v_waits from windlass.sessions
        where id = p_session and epoch = p_epoch and worker = p_worker for update;
    if not found then return false; end if;
    insert into windlass.back_offs as b (provider, until)
        values (v_provider, now() + p_millis * interval '1 millisecond')
        on conflict (provider) do update set until = greatest(b.until, excluded.until);
    update windlass.sessions set waits = v_waits, waited_cost = cost_micro where id = p_session;
    return windlass.end_claim(p_session, p_epoch, p_worker,
        case when v_waits > p_waits_max then 'parked' else 'queued' end,
        p_reason, null, true, p_millis);
end $$;

-- Drops everything behind this length of a file, if the claim holds.
create function windlass.cut_journal(
    p_session text, p_epoch bigint, p_worker text, p_file text, p_length bigint)
returns table (outcome text, value bigint) language plpgsql as $$
declare v_epoch bigint; v_worker text;
begin
    select epoch, worker into v_epoch, v_worker
        from windlass.sessions where id = p_session for update;
    if v_epoch is null then
        return query select 'missing'::text, 0::bigint; return;
    end if;
    if v_epoch <> p_epoch or v_worker is distinct from p_worker then
        return query select 'fenced'::text, v_epoch; return;
    end if;
    delete from windlass.journal
        where session = p_session and file = p_file and position >= p_length;
    update windlass.journal set bytes = substring(bytes for (p_length - position)::int)
        where session = p_session and file = p_file and position + length(bytes) > p_length;
    return query select 'cut'::text, p_length;
end $$;

-- A claim outside the queue, by a program that has the journal to itself. A live holder is named.
create function windlass.claim_journal(p_session text, p_tenant text, p_worker text)
returns table (epoch bigint, seq bigint, host text, pid int) language plpgsql as $$
declare v_host text; v_pid int;
begin
    insert into windlass.sessions (id, tenant, state, spec)
        values (p_session, p_tenant, 'idle', '{}') on conflict do nothing;
    perform 1 from windlass.sessions s where s.id = p_session for update;
    select w.host, w.pid into v_host, v_pid from windlass.sessions s
        join windlass.workers w on w.id = s.worker
        where s.id = p_session and w.lease_until > now();
    if v_host is null then
        update windlass.sessions s set epoch = s.epoch + 1, worker = p_worker
            where s.id = p_session;
    end if;
    return query select s.epoch, s.seq, v_host, v_pid
        from windlass.sessions s where s.id = p_session;
end $$;
