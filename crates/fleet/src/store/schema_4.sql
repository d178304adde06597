-- Where gateways get live text from: the worker's address, the key for it, and its certificate.
alter table windlass.workers
    add column live_address text,
    add column live_key text,
    add column live_certificate text;

-- Adds an event and returns its number; one whose id is there already has the number it has. Null if
-- the claim does not hold.
create function windlass.add_numbered_event(
    p_session text, p_epoch bigint, p_worker text, p_uuid text, p_frame text)
returns bigint language plpgsql as $$
declare v_number bigint;
begin
    perform 1 from windlass.sessions where id = p_session and epoch = p_epoch
        and worker = p_worker for update;
    if not found then return null; end if;
    insert into windlass.events (session, number, epoch, uuid, frame)
        select p_session, coalesce(max(number), 0) + 1, p_epoch, p_uuid, p_frame
        from windlass.events where session = p_session
        on conflict (session, uuid) where uuid is not null do nothing
        returning number into v_number;
    if v_number is null then
        select number into v_number from windlass.events
            where session = p_session and uuid = p_uuid;
    end if;
    perform pg_notify('windlass_events', p_session);
    return v_number;
end $$;
