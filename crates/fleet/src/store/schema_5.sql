-- A provider that limits the rate does so by key: workers with the same key wait, others go on. A key is
-- kept as a digest under a secret of this store, so it is the same in no other store.
alter table windlass.store add column key_secret text not null
    default gen_random_uuid()::text || gen_random_uuid()::text;
-- The digest of a worker's key by provider; the empty name is the provider of its default model.
alter table windlass.workers add column provider_keys jsonb not null default '{}';
alter table windlass.back_offs
    drop constraint back_offs_pkey,
    add column key text not null default '',
    add primary key (provider, key);
-- How often a session was started again after a failure of its provider, since its last message.
alter table windlass.sessions add column retries int not null default 0;

-- The digest of the key with which a worker asks a provider; empty if it is not known.
create function windlass.key_of(p_worker text, p_provider text) returns text
language sql stable as $$
    select coalesce((select provider_keys ->> p_provider from windlass.workers
        where id = p_worker), '');
$$;

-- The providers that a worker leaves alone for now.
create function windlass.list_backed_off(p_worker text) returns text[] language sql stable as $$
    select coalesce(array_agg(o.provider), '{}') from windlass.back_offs o
        where o.until > now() and o.key = windlass.key_of(p_worker, o.provider);
$$;

-- Until when no worker asks this provider, if that is so: each has a key that is limited.
create function windlass.backed_off_until(p_provider text) returns timestamptz
language sql stable as $$
    select case when not exists (select 1 from windlass.workers w
            where w.lease_until > now() and not w.drains and w.capacity > 0
            and not exists (select 1 from windlass.back_offs o where o.provider = p_provider
                and o.until > now() and o.key = coalesce(w.provider_keys ->> p_provider, '')))
        then (select min(until) from windlass.back_offs
            where provider = p_provider and until > now()) end;
$$;

-- Gives a worker the next session: of the tenant that has the fewest running, and of those the one that
-- has waited longest for its turn; within it by priority and age. Claims stand in line behind one lock,
-- so that limits and budgets are exact. A worker of another schema gets nothing.
create or replace function windlass.claim_session(p_worker text, p_attempts_max int, p_schema int)
returns table (id text, epoch bigint, spec text, attempts int, base_commit text,
    is_trusted boolean, repositories text[], push_prefix text) language plpgsql as $$
declare
    v_id text; v_tenant text; v_batch text; v_reserved bigint;
    v_full_repositories text[]; v_full_providers text[];
begin
    perform pg_advisory_xact_lock(5787213827046133840);
    perform windlass.take_back_sessions(p_attempts_max);
    perform 1 from windlass.workers w, windlass.store x
        where w.id = p_worker and w.lease_until > now() and not w.drains and x.version = p_schema;
    if not found then return; end if;
    v_full_repositories := windlass.list_full('repository');
    v_full_providers := windlass.list_full('provider') || windlass.list_backed_off(p_worker);
    select s.id, t.id, s.batch, s.needs into v_id, v_tenant, v_batch, v_reserved
        from (select x.*, (select count(*) from windlass.sessions r
                where r.tenant = x.id and r.state = 'running') as running
                from windlass.tenants x) t
        cross join lateral (select q.id, q.created, q.batch,
                greatest(0, coalesce(q.budget_micro, 0) - q.cost_micro) as needs
                from windlass.sessions q left join windlass.batches b on b.id = q.batch
                where q.tenant = t.id and q.state = 'queued' and q.wake_at <= now()
                -- What has no bound of its own is covered by no budget.
                and (t.budget_micro is null or q.budget_micro is not null
                    and t.spent_micro + t.reserved_micro
                    + greatest(0, q.budget_micro - q.cost_micro) <= t.budget_micro)
                and (b.budget_micro is null or q.budget_micro is not null
                    and b.spent_micro + b.reserved_micro
                    + greatest(0, q.budget_micro - q.cost_micro) <= b.budget_micro)
                and q.repository <> all(v_full_repositories)
                and q.provider <> all(v_full_providers)
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
    update windlass.batches b set reserved_micro = b.reserved_micro + v_reserved
        where b.id = v_batch;
    update windlass.sessions s set state = 'running', epoch = s.epoch + 1,
        worker = p_worker, attempts = s.attempts + 1, claimed = now(), updated = now(),
        reserved_micro = v_reserved, reason = null where s.id = v_id;
    return query select s.id, s.epoch, s.spec, s.attempts, s.base_commit, x.is_trusted,
        x.repositories, x.push_prefix
        from windlass.sessions s join windlass.tenants x on x.id = s.tenant where s.id = v_id;
end $$;

-- Why a queued session is not claimed, as `claim_session` decides it; of others their reason.
create or replace function windlass.explain_wait(s windlass.sessions) returns text
language plpgsql stable as $$
declare t windlass.tenants; b windlass.batches; v_words text; v_until timestamptz; v_most int;
begin
    if s.state <> 'queued' or s.wake_at > now() then return s.reason; end if;
    select * into t from windlass.tenants where id = s.tenant;
    v_words := windlass.explain_budget('tenant ' || t.id, t.budget_micro,
        t.spent_micro + t.reserved_micro, s);
    if v_words is not null then return v_words; end if;
    if s.batch is not null then
        select * into b from windlass.batches where id = s.batch;
        v_words := windlass.explain_budget('batch ' || b.id, b.budget_micro,
            b.spent_micro + b.reserved_micro, s);
        if v_words is not null then return v_words; end if;
    end if;
    v_until := windlass.backed_off_until(s.provider);
    if v_until is not null then
        return 'waits for its provider, which limits the rate, '
            || ceil(extract(epoch from v_until - now())) || ' seconds more';
    end if;
    if t.running_max <= (select count(*) from (select 1 from windlass.sessions r
            where r.tenant = s.tenant and r.state = 'running' limit t.running_max) x) then
        return 'waits for its turn: tenant ' || t.id || ' runs ' || t.running_max
            || ' sessions, as many as it may';
    end if;
    select running_max into v_most from windlass.limits
        where kind = 'repository' and name = s.repository and s.repository <> '';
    if found and v_most <= (select count(*) from (select 1 from windlass.sessions r
            where r.state = 'running' and r.repository = s.repository
            and r.repository <> '' limit v_most) x) then
        return 'waits for its turn: the repository has ' || v_most
            || ' sessions, as many as it may';
    end if;
    select running_max into v_most from windlass.limits
        where kind = 'provider' and name = s.provider;
    if found and v_most <= (select count(*) from (select 1 from windlass.sessions r
            where r.state = 'running' and r.provider = s.provider limit v_most) x) then
        return 'waits for its turn: the provider has ' || v_most || ' sessions, as many as it may';
    end if;
    return s.reason;
end $$;

-- Ends a claim, if it still holds, because its provider wants to be left alone: no worker with the same
-- key asks it before. The session goes on at once where there is another key. One that waits again and
-- again without an answer in between is parked.
create or replace function windlass.back_off_session(
    p_session text, p_epoch bigint, p_worker text, p_reason text, p_millis bigint, p_waits_max int)
returns boolean language plpgsql as $$
declare v_provider text; v_waits int;
begin
    select provider, case when cost_micro > waited_cost then 1 else waits + 1 end
        into v_provider, v_waits from windlass.sessions
        where id = p_session and epoch = p_epoch and worker = p_worker for update;
    if not found then return false; end if;
    insert into windlass.back_offs as b (provider, key, until)
        values (v_provider, windlass.key_of(p_worker, v_provider),
            now() + p_millis * interval '1 millisecond')
        on conflict (provider, key) do update set until = greatest(b.until, excluded.until);
    update windlass.sessions set waits = v_waits, waited_cost = cost_micro where id = p_session;
    return windlass.end_claim(p_session, p_epoch, p_worker,
        case when v_waits > p_waits_max then 'parked' else 'queued' end, p_reason, null, true, 0);
end $$;

-- Ends a claim, if it still holds, after a failure of its provider: the session goes on later with this
-- message, unless that was tried often enough.
create function windlass.retry_session(
    p_session text, p_epoch bigint, p_worker text, p_reason text, p_result text,
    p_retries_max int, p_millis bigint, p_uuid text, p_content text)
returns boolean language plpgsql as $$
declare v_retries int; v_is_over boolean; v_millis bigint;
begin
    select retries, is_cancelled or retries >= p_retries_max into v_retries, v_is_over
        from windlass.sessions
        where id = p_session and epoch = p_epoch and worker = p_worker for update;
    if not found then return false; end if;
    if v_is_over then
        return windlass.end_claim(
            p_session, p_epoch, p_worker, 'failed', p_reason, p_result, true, 0);
    end if;
    v_millis := least(3600000, p_millis * (2 ^ v_retries)::bigint);
    update windlass.sessions set retries = v_retries + 1 where id = p_session;
    -- A message of a user that waits already is enough to go on with.
    insert into windlass.messages (session, number, uuid, content, sender)
        select p_session, coalesce(max(number), 0) + 1, p_uuid, p_content, 'windlass'
        from windlass.messages where session = p_session having count(*) = count(*) filter (where is_taken);
    return windlass.end_claim(p_session, p_epoch, p_worker, 'queued',
        p_reason || ': its provider failed; retry ' || v_retries + 1 || ' of ' || p_retries_max
        || ' in ' || v_millis / 1000 || ' seconds', null, true, v_millis);
end $$;

-- A message for a session. One that has ended, or waits for an answer, goes on with it.
create or replace function windlass.add_message(
    p_session text, p_uuid text, p_content text, p_sender text) returns bigint
language plpgsql as $$
declare v_number bigint; v_state text; v_wake timestamptz;
begin
    select state, wake_at into v_state, v_wake
        from windlass.sessions where id = p_session for update;
    if v_state is null then return null; end if;
    select number into v_number from windlass.messages
        where session = p_session and uuid = p_uuid;
    if v_number is not null then return v_number; end if;
    select coalesce(max(number), 0) + 1 into v_number from windlass.messages
        where session = p_session;
    insert into windlass.messages (session, number, uuid, content, sender)
        values (p_session, v_number, p_uuid, p_content, p_sender);
    if v_state in ('idle', 'done', 'failed', 'parked', 'cancelled') then
        update windlass.sessions set state = 'queued', is_cancelled = false, attempts = 0,
            retries = 0, reason = null, wake_at = now(), updated = now() where id = p_session;
        perform pg_notify('windlass_queue', '');
    elsif v_state = 'queued' and v_wake = 'infinity' then
        update windlass.sessions set wake_at = now(), updated = now() where id = p_session;
        perform pg_notify('windlass_queue', '');
    else
        perform pg_notify('windlass_control', p_session);
    end if;
    return v_number;
end $$;

-- Whether a journal of the session may have this text, which is in lower case and the same in JSON. A
-- journal is no text of the database: what is no ASCII in it is escaped, which changes no match.
create function windlass.may_contain(p_session text, p_needle text) returns boolean
language sql stable as $$
    select exists (select 1 from windlass.journal j where j.session = p_session
        and position(p_needle in lower(encode(j.bytes, 'escape') collate "C")) > 0);
$$;
-- A search goes from the newest session to the oldest.
create index sessions_created on windlass.sessions
    (((extract(epoch from created at time zone 'UTC') * 1000000)::bigint) desc, id desc);
