create schema windlass;
-- Marks the schema as ours and says how far it was migrated.
create table windlass.store (version int not null, created timestamptz not null default now());
create table windlass.tenants (
    id text primary key,
    budget_micro bigint,
    spent_micro bigint not null default 0,
    reserved_micro bigint not null default 0,
    running_max int not null default 100,
    created timestamptz not null default now());
create table windlass.tokens (
    hash bytea primary key,
    name text not null,
    tenant text not null references windlass.tenants,
    role text not null check (role in ('watch', 'submit', 'approve', 'admin')),
    expires timestamptz,
    created timestamptz not null default now());
create table windlass.workers (
    id text primary key,
    host text not null,
    pid int not null,
    capacity int not null,
    lease_until timestamptz not null,
    drains boolean not null default false,
    started timestamptz not null default now());
create table windlass.batches (
    id text primary key,
    tenant text not null references windlass.tenants,
    name text not null,
    created timestamptz not null default now());
create table windlass.sessions (
    id text primary key,
    tenant text not null references windlass.tenants,
    batch text references windlass.batches,
    batch_row int,
    state text not null check (state in
        ('idle', 'queued', 'running', 'done', 'failed', 'parked', 'cancelled')),
    priority int not null default 0,
    spec text not null,
    title text,
    epoch bigint not null default 0,
    worker text,
    attempts int not null default 0,
    claimed timestamptz,
    wake_at timestamptz not null default now(),
    seq bigint not null default 0,
    cost_micro bigint not null default 0,
    budget_micro bigint,
    reserved_micro bigint not null default 0,
    is_cancelled boolean not null default false,
    reason text,
    result text,
    created timestamptz not null default now(),
    updated timestamptz not null default now());
create index sessions_queued on windlass.sessions (tenant, priority desc, created)
    where state = 'queued';
create index sessions_running on windlass.sessions (tenant) where state = 'running';
create index sessions_worker on windlass.sessions (worker) where worker is not null;
create index sessions_tenant on windlass.sessions (tenant, id);
create index sessions_batch on windlass.sessions (batch, batch_row) where batch is not null;
create table windlass.journal (
    session text not null references windlass.sessions on delete cascade,
    file text not null,
    position bigint not null,
    epoch bigint not null,
    bytes bytea not null,
    primary key (session, file, position));
create table windlass.blobs (
    session text not null references windlass.sessions on delete cascade,
    name text not null,
    epoch bigint not null,
    bytes bytea not null,
    primary key (session, name));
create table windlass.packs (
    session text not null references windlass.sessions on delete cascade,
    number int not null,
    epoch bigint not null,
    snapshot text not null,
    bytes bytea not null,
    primary key (session, number));
create table windlass.messages (
    session text not null references windlass.sessions on delete cascade,
    number bigint not null,
    uuid text not null,
    content text not null,
    sender text not null,
    is_taken boolean not null default false,
    created timestamptz not null default now(),
    primary key (session, number),
    unique (session, uuid));
create table windlass.questions (
    session text not null references windlass.sessions on delete cascade,
    request text not null,
    epoch bigint not null,
    body text not null,
    answer text,
    answered_by text,
    created timestamptz not null default now(),
    primary key (session, request));
create table windlass.events (
    session text not null references windlass.sessions on delete cascade,
    number bigint not null,
    epoch bigint not null,
    uuid text,
    frame text not null,
    primary key (session, number));
create unique index events_uuid on windlass.events (session, uuid) where uuid is not null;

-- Gives back what a session has reserved and does not need while nobody runs it.
create function windlass.drop_reservation(p_session text) returns void language sql as $$
    with before as (
        select id, tenant, reserved_micro from windlass.sessions where id = p_session for update),
    dropped as (
        update windlass.sessions s set reserved_micro = 0 from before b where s.id = b.id
        returning s.id)
    update windlass.tenants t set reserved_micro = t.reserved_micro - b.reserved_micro
        from before b where t.id = b.tenant and b.reserved_micro <> 0;
$$;

-- The fence: bytes are appended only by the holder of the newest claim, and only at the end. The same
-- bytes again are no error, because an answer can be lost after its commit.
create function windlass.append_journal(
    p_session text, p_epoch bigint, p_worker text, p_file text, p_position bigint,
    p_expected bigint, p_seq bigint, p_bytes bytea, p_cost bigint, p_names text[])
returns table (outcome text, value bigint) language plpgsql as $$
declare
    v_epoch bigint; v_worker text; v_seq bigint; v_tenant text; v_reserved bigint;
    v_length bigint; v_left bigint;
begin
    select epoch, worker, seq, tenant, reserved_micro
        into v_epoch, v_worker, v_seq, v_tenant, v_reserved
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
    end if;
    if array_length(p_names, 1) > 0 then
        update windlass.messages set is_taken = true
            where session = p_session and uuid = any(p_names);
    end if;
    return query select 'appended'::text, v_length + length(p_bytes);
end $$;

-- Sessions whose worker is gone wait for another one, unless they took too many with them.
create function windlass.take_back_sessions(p_attempts_max int) returns bigint
language plpgsql as $$
declare r record; v_count bigint := 0;
begin
    for r in select s.id, s.attempts, s.is_cancelled from windlass.sessions s
        left join windlass.workers w on w.id = s.worker
        where s.state = 'running' and (w.id is null or w.lease_until < now())
        for update of s skip locked
    loop
        perform windlass.drop_reservation(r.id);
        update windlass.sessions set epoch = epoch + 1, worker = null, updated = now(),
            state = case when r.is_cancelled then 'cancelled'
                when r.attempts >= p_attempts_max then 'parked' else 'queued' end,
            reason = case when r.is_cancelled then 'cancelled'
                when r.attempts >= p_attempts_max
                then 'its worker was lost ' || r.attempts || ' times in a row' end
            where id = r.id;
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;

-- Gives a worker the next session: of the tenant that has the fewest running, by priority and age.
-- Claims stand in line behind one lock, so that limits and budgets are exact.
create function windlass.claim_session(p_worker text, p_attempts_max int)
returns table (id text, epoch bigint, tenant text, spec text, attempts int) language plpgsql as $$
declare v_id text; v_tenant text; v_reserved bigint;
begin
    perform pg_advisory_xact_lock(5787213827046133840);
    perform windlass.take_back_sessions(p_attempts_max);
    perform 1 from windlass.workers w
        where w.id = p_worker and w.lease_until > now() and not w.drains;
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
                order by q.priority desc, q.created limit 1) s
        where t.running < t.running_max
        order by t.running, s.priority desc, s.created limit 1;
    if v_id is null then return; end if;
    -- A cancel takes no lock of ours: from here on it waits for this row, or this claim is off.
    perform 1 from windlass.sessions s where s.id = v_id and s.state = 'queued'
        for update skip locked;
    if not found then return; end if;
    update windlass.tenants x set reserved_micro = x.reserved_micro + v_reserved
        where x.id = v_tenant and v_reserved > 0;
    return query update windlass.sessions s set state = 'running', epoch = s.epoch + 1,
        worker = p_worker, attempts = s.attempts + 1, claimed = now(), updated = now(),
        reserved_micro = v_reserved, reason = null
        where s.id = v_id and s.state = 'queued'
        returning s.id, s.epoch, s.tenant, s.spec, s.attempts;
end $$;

-- Ends a claim, if it still holds.
create function windlass.end_claim(
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
    delete from windlass.questions where session = p_session and answer is null;
    perform pg_notify('windlass_events', p_session);
    if p_state = 'queued' then perform pg_notify('windlass_queue', ''); end if;
    return true;
end $$;

-- A message for a session. One that has ended goes on with it.
create function windlass.add_message(
    p_session text, p_uuid text, p_content text, p_sender text) returns bigint
language plpgsql as $$
declare v_number bigint; v_state text;
begin
    select state into v_state from windlass.sessions where id = p_session for update;
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
    else
        perform pg_notify('windlass_control', p_session);
    end if;
    return v_number;
end $$;

create function windlass.add_event(
    p_session text, p_epoch bigint, p_worker text, p_uuid text, p_frame text)
returns boolean language plpgsql as $$
begin
    perform 1 from windlass.sessions where id = p_session and epoch = p_epoch
        and worker = p_worker for update;
    if not found then return false; end if;
    insert into windlass.events (session, number, epoch, uuid, frame)
        select p_session, coalesce(max(number), 0) + 1, p_epoch, p_uuid, p_frame
        from windlass.events where session = p_session
        on conflict (session, uuid) where uuid is not null do nothing;
    perform pg_notify('windlass_events', p_session);
    return true;
end $$;
insert into windlass.store (version) values (1);
