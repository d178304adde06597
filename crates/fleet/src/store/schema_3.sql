-- Who answered which question is kept: a question is closed when the session was given its answer. `call`
-- says which call it is about, so that a question that is asked again after a restart is the same one.
alter table windlass.questions
    add column call text not null default '',
    add column answered timestamptz,
    add column closed timestamptz,
    add column outcome text;
-- What a batch may spend, booked like the budget of a tenant.
alter table windlass.batches
    add column budget_micro bigint,
    add column spent_micro bigint not null default 0,
    add column reserved_micro bigint not null default 0;
update windlass.batches b set spent_micro = s.spent, reserved_micro = s.reserved
    from (select batch, sum(cost_micro) as spent, sum(reserved_micro) as reserved
        from windlass.sessions where batch is not null group by batch) s
    where s.batch = b.id;
-- Where a session works, and the branch that its result was pushed to, or why not.
alter table windlass.sessions
    add column repository text not null default '',
    add column branch text,
    add column branch_commit text,
    add column branch_problem text;
update windlass.sessions
    set repository = regexp_replace(substring(spec from '"git":"([^"\\]*)"'), '(\.git)?/*$', '')
    where spec like '%"git":"%';
-- Branches that a tenant's sessions may push begin like this; nothing may be pushed without it.
alter table windlass.tenants add column push_prefix text;
-- How many sessions of one repository or of one provider run at once, whatever their tenants.
create table windlass.limits (
    kind text not null check (kind in ('repository', 'provider')),
    name text not null,
    running_max int not null,
    primary key (kind, name));
create index sessions_repository on windlass.sessions (repository)
    where state = 'running' and repository <> '';
create index sessions_provider on windlass.sessions (provider) where state = 'running';
create index sessions_ended on windlass.sessions (updated)
    where state in ('done', 'failed', 'parked', 'cancelled');

create or replace function windlass.drop_reservation(p_session text) returns void
language plpgsql as $$
declare v_tenant text; v_batch text; v_reserved bigint;
begin
    select tenant, batch, reserved_micro into v_tenant, v_batch, v_reserved
        from windlass.sessions where id = p_session for update;
    if coalesce(v_reserved, 0) = 0 then return; end if;
    update windlass.sessions set reserved_micro = 0 where id = p_session;
    update windlass.tenants set reserved_micro = reserved_micro - v_reserved where id = v_tenant;
    update windlass.batches set reserved_micro = reserved_micro - v_reserved where id = v_batch;
end $$;

create or replace function windlass.append_journal(
    p_session text, p_epoch bigint, p_worker text, p_file text, p_position bigint,
    p_expected bigint, p_seq bigint, p_bytes bytea, p_cost bigint, p_names text[])
returns table (outcome text, value bigint) language plpgsql as $$
declare
    v_epoch bigint; v_worker text; v_seq bigint; v_tenant text; v_batch text; v_reserved bigint;
    v_length bigint; v_left bigint;
begin
    select epoch, worker, seq, tenant, batch, reserved_micro
        into v_epoch, v_worker, v_seq, v_tenant, v_batch, v_reserved
        from windlass.sessions where id = p_session for update;
    if v_epoch is null then
        return query select 'missing'::text, 0::bigint; return;
    end if;
    if v_epoch <> p_epoch or v_worker is distinct from p_worker then
        return query select 'fenced'::text, v_epoch; return;
    end if;
    if p_expected is not null and v_seq <> p_expected then
        return query select 'conflict'::text, v_seq; return;
    end if;
    select j.position + length(j.bytes) into v_length from windlass.journal j
        where j.session = p_session and j.file = p_file order by j.position desc limit 1;
    v_length := coalesce(v_length, 0);
    if p_position is not null and p_position <> v_length then
        if exists (select 1 from windlass.journal j where j.session = p_session
                and j.file = p_file and j.position = p_position and j.epoch = p_epoch
                and j.bytes = p_bytes) then
            return query select 'appended'::text, v_length; return;
        end if;
        return query select 'conflict'::text, v_length; return;
    end if;
    insert into windlass.journal (session, file, position, epoch, bytes)
        values (p_session, p_file, v_length, p_epoch, p_bytes);
    v_left := greatest(0, v_reserved - p_cost);
    update windlass.sessions set seq = greatest(seq, coalesce(p_seq, 0)),
        cost_micro = cost_micro + p_cost, reserved_micro = v_left, updated = now()
        where id = p_session;
    if p_cost > 0 then
        update windlass.tenants set spent_micro = spent_micro + p_cost,
            reserved_micro = reserved_micro - (v_reserved - v_left) where id = v_tenant;
        update windlass.batches set spent_micro = spent_micro + p_cost,
            reserved_micro = reserved_micro - (v_reserved - v_left) where id = v_batch;
    end if;
    if array_length(p_names, 1) > 0 then
        update windlass.messages set is_taken = true
            where session = p_session and uuid = any(p_names);
    end if;
    return query select 'appended'::text, v_length + length(p_bytes);
end $$;

-- The names of repositories or providers that run as many sessions as they may.
create function windlass.list_full(p_kind text) returns text[] language sql stable as $$
    select coalesce(array_agg(l.name), '{}') from windlass.limits l where l.kind = p_kind
        and l.running_max <= case p_kind
            when 'repository' then (select count(*) from windlass.sessions r
                where r.state = 'running' and r.repository = l.name and r.repository <> '')
            else (select count(*) from windlass.sessions r
                where r.state = 'running' and r.provider = l.name) end;
$$;

-- Gives a worker the next session: of the tenant that has the fewest running, and of those the one that
-- has waited longest for its turn; within it by priority and age. Claims stand in line behind one lock,
-- so that limits and budgets are exact. A worker of another schema gets nothing.
drop function windlass.claim_session(text, int, int);
create function windlass.claim_session(p_worker text, p_attempts_max int, p_schema int)
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
    v_full_providers := windlass.list_full('provider');
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
                and not exists (select 1 from windlass.back_offs o
                    where o.provider = q.provider and o.until > now())
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

create function windlass.to_usd(p_micro bigint) returns text language sql immutable as $$
    select '$' || to_char(p_micro / 1000000.0, 'FM999999999990.0099');
$$;

-- What a budget that does not cover a session lacks; null if it does.
create function windlass.explain_budget(
    p_of text, p_budget bigint, p_used bigint, s windlass.sessions) returns text
language sql immutable as $$
    select case
        when p_budget is null then null
        when s.budget_micro is null
            then 'waits: ' || p_of || ' has a budget, and the session has no max_budget_usd'
        when p_used + greatest(0, s.budget_micro - s.cost_micro) > p_budget
            then 'waits for the budget of ' || p_of || ': needs '
                || windlass.to_usd(greatest(0, s.budget_micro - s.cost_micro)) || ', '
                || windlass.to_usd(greatest(0, p_budget - p_used)) || ' left' end;
$$;

-- Why a queued session is not claimed, as `claim_session` decides it; of others their reason.
create function windlass.explain_wait(s windlass.sessions) returns text language plpgsql stable as $$
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
    select until into v_until from windlass.back_offs
        where provider = s.provider and until > now();
    if found then
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

create function windlass.submit_session(
    p_session text, p_tenant text, p_batch text, p_batch_row int, p_priority int, p_spec text,
    p_title text, p_budget bigint, p_content text, p_sender text, p_provider text,
    p_repository text) returns text
language plpgsql as $$
declare v_budget bigint;
begin
    if p_batch is not null then
        select budget_micro into v_budget from windlass.batches
            where id = p_batch and tenant = p_tenant;
        if not found then return 'no batch'; end if;
        if v_budget is not null and p_budget is null then return 'no budget'; end if;
    end if;
    insert into windlass.sessions (id, tenant, batch, batch_row, state, priority, spec, title,
        budget_micro, provider, repository) values (p_session, p_tenant, p_batch, p_batch_row,
        'idle', p_priority, p_spec, p_title, p_budget, p_provider, p_repository)
        on conflict do nothing;
    if not found then return 'exists'; end if;
    perform windlass.add_message(p_session, p_session, p_content, p_sender);
    return 'added';
end $$;

-- A question of the session's holder. One about the same call that an earlier holder asked is taken
-- over, with the answer that came meanwhile.
create function windlass.add_question(
    p_session text, p_epoch bigint, p_worker text, p_request text, p_call text, p_body text)
returns boolean language plpgsql as $$
begin
    perform 1 from windlass.sessions where id = p_session and epoch = p_epoch
        and worker = p_worker for update;
    if not found then return false; end if;
    update windlass.questions set request = p_request, epoch = p_epoch, body = p_body
        where session = p_session and request = (select q.request from windlass.questions q
            where q.session = p_session and q.closed is null and q.epoch < p_epoch
            and q.call = p_call and p_call <> ''
            order by q.answer is null, q.created limit 1);
    if not found then
        insert into windlass.questions (session, request, epoch, body, call)
            values (p_session, p_request, p_epoch, p_body, p_call) on conflict do nothing;
    end if;
    return true;
end $$;

-- What the session's holder gave it as the answer; null if the session withdrew the question.
create function windlass.close_question(
    p_session text, p_epoch bigint, p_worker text, p_request text, p_outcome text)
returns boolean language plpgsql as $$
begin
    perform 1 from windlass.sessions where id = p_session and epoch = p_epoch
        and worker = p_worker for update;
    if not found then return false; end if;
    if p_outcome is null then
        delete from windlass.questions
            where session = p_session and request = p_request and answer is null;
    end if;
    update windlass.questions set closed = now(), outcome = coalesce(p_outcome, 'withdrawn')
        where session = p_session and request = p_request and closed is null;
    return true;
end $$;

-- Answers an open question of a session that has not ended, once, and tells it to those who watch.
create function windlass.answer_question(
    p_session text, p_request text, p_answer text, p_by text, p_uuid text, p_frame text)
returns boolean language plpgsql as $$
declare v_state text; v_epoch bigint; v_wake timestamptz;
begin
    select state, epoch, wake_at into v_state, v_epoch, v_wake
        from windlass.sessions where id = p_session for update;
    if v_state is null or v_state not in ('queued', 'running') then return false; end if;
    update windlass.questions set answer = p_answer, answered_by = p_by, answered = now()
        where session = p_session and request = p_request and answer is null and closed is null
        -- The holder asks again what an earlier one asked, unless it goes another way.
        and (v_state = 'queued' or epoch = v_epoch);
    if not found then return false; end if;
    insert into windlass.events (session, number, epoch, uuid, frame)
        select p_session, coalesce(max(number), 0) + 1, v_epoch, p_uuid, p_frame
        from windlass.events where session = p_session
        on conflict (session, uuid) where uuid is not null do nothing;
    perform pg_notify('windlass_events', p_session);
    if v_state = 'queued' and v_wake = 'infinity' then
        update windlass.sessions set wake_at = now(), reason = null, updated = now()
            where id = p_session;
        perform pg_notify('windlass_queue', '');
    else
        perform pg_notify('windlass_control', p_session);
    end if;
    return true;
end $$;

-- Ends a claim, if it still holds, because only the answer to a question is missing: no worker takes the
-- session before there is one, or a message that its process was not sent.
create function windlass.wait_for_answer(
    p_session text, p_epoch bigint, p_worker text, p_reason text, p_sent text[])
returns boolean language plpgsql as $$
declare v_is_due boolean;
begin
    select is_cancelled into v_is_due from windlass.sessions
        where id = p_session and epoch = p_epoch and worker = p_worker for update;
    if not found then return false; end if;
    perform windlass.drop_reservation(p_session);
    v_is_due := v_is_due
        or exists (select 1 from windlass.questions
            where session = p_session and epoch = p_epoch and answer is not null
            and closed is null)
        or not exists (select 1 from windlass.questions
            where session = p_session and epoch = p_epoch and answer is null and closed is null)
        or exists (select 1 from windlass.messages
            where session = p_session and not is_taken and uuid <> all(p_sent));
    update windlass.sessions set state = 'queued', worker = null, attempts = 0, updated = now(),
        reason = p_reason, wake_at = case when v_is_due then now() else 'infinity' end
        where id = p_session;
    perform pg_notify('windlass_events', p_session);
    if v_is_due then perform pg_notify('windlass_queue', ''); end if;
    return true;
end $$;

-- Ends a claim, if it still holds.
create or replace function windlass.end_claim(
    p_session text, p_epoch bigint, p_worker text, p_state text, p_reason text, p_result text,
    p_is_orderly boolean, p_wake_millis bigint)
returns boolean language plpgsql as $$
begin
    perform 1 from windlass.sessions where id = p_session and epoch = p_epoch
        and worker = p_worker for update;
    if not found then return false; end if;
    perform windlass.drop_reservation(p_session);
    -- A message that came while the session ended is not forgotten.
    if p_state in ('done', 'failed') and exists (select 1 from windlass.messages
            where session = p_session and not is_taken) then
        p_state := 'queued';
    end if;
    update windlass.sessions set state = p_state, worker = null, reason = p_reason,
        result = coalesce(p_result, result), updated = now(),
        attempts = case when p_is_orderly then 0 else attempts end,
        wake_at = now() + p_wake_millis * interval '1 millisecond'
        where id = p_session;
    -- In the queue, the next holder asks again.
    if p_state <> 'queued' then
        delete from windlass.questions where session = p_session and answer is null;
        update windlass.questions set closed = now(), outcome = 'unknown'
            where session = p_session and closed is null;
    end if;
    perform pg_notify('windlass_events', p_session);
    if p_state = 'queued' then perform pg_notify('windlass_queue', ''); end if;
    return true;
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
            reason = null, wake_at = now(), updated = now() where id = p_session;
        perform pg_notify('windlass_queue', '');
    elsif v_state = 'queued' and v_wake = 'infinity' then
        update windlass.sessions set wake_at = now(), updated = now() where id = p_session;
        perform pg_notify('windlass_queue', '');
    else
        perform pg_notify('windlass_control', p_session);
    end if;
    return v_number;
end $$;
