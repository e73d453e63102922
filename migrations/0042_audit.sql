-- Who did what, with what the engine did of itself: by the chain's word or the calendar's. The same rows in a table that takes such an actor.
create table audit_log_with_engine (
    id text primary key,
    at timestamptz not null,
    -- The person; a key counts as its owner, and is named in the detail. None for the engine, and for somebody who had yet to show who they are.
    actor text,
    actor_kind text not null check (actor_kind in ('person', 'key', 'anonymous', 'host', 'engine')),
    session_id text,
    ip text,
    -- The route, the command, or the name of the engine's commit.
    action text not null,
    object_type text,
    object_id text,
    -- Canonical JSON: names of events, a status, what changed; a person's data by the names of its fields alone.
    detail text not null,
    request_id text,
    check (actor_kind not in ('person', 'key') or actor is not null)
);
insert into audit_log_with_engine (id, at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail, request_id)
    select id, at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail, request_id from audit_log;
drop table audit_log;
alter table audit_log_with_engine rename to audit_log;
create index audit_log_by_actor on audit_log (actor, id) where actor is not null;
create index audit_log_by_action on audit_log (action, id);
create index audit_log_by_object on audit_log (object_id, id);

-- What the chain had come to, day by day: a Merkle root over the seals since the anchor before, signed by a key that the database does not
-- have, and noted in the log of the process. What is cut off at the end of the chain, or written anew, does not fit them.
create table audit_anchors (
    from_position bigint primary key check (from_position >= 1),
    to_position bigint not null unique,
    -- The last day of the anchored lines, in UTC.
    day text not null,
    root text not null,
    -- Of the seal at the last position.
    head_hash text not null,
    signature text not null,
    created_at timestamptz not null,
    check (to_position >= from_position)
);
