-- The audit log: who did what. One entry for each act of a person, a program or the engine, written in the commit of the act itself, so
-- neither exists without the other. Log, seals and anchors only grow: triggers refuse changes. The program creates them at every start,
-- because the two engines share no text for a trigger.
create table audit_log (
    id text primary key,
    at timestamptz not null,
    -- The person. A key counts as its owner and is named in the detail. Null for the engine and before authentication.
    actor text,
    actor_kind text not null check (actor_kind in ('person', 'key', 'anonymous', 'host', 'engine')),
    session_id text,
    ip text,
    -- The route, the command, or the name of the engine's commit.
    action text not null,
    object_type text,
    object_id text,
    -- Canonical JSON: names of events, a status, changed values. Of personal data only the names of the fields.
    detail text not null,
    request_id text,
    check (actor_kind not in ('person', 'key') or actor is not null)
);
create index audit_log_by_actor on audit_log (actor, id) where actor is not null;
create index audit_log_by_action on audit_log (action, id);
create index audit_log_by_object on audit_log (object_id, id);

-- Entries that have no seal yet. Written with the entry, so that concurrent writers need not wait for one another.
create table audit_unsealed (
    audit_id text primary key
);

-- The hash chain: a hash over the previous seal and the entry. A changed, removed or moved entry breaks it. There is no foreign key,
-- because the seal of a removed entry must remain.
create table audit_seals (
    position bigint primary key check (position >= 1),
    audit_id text not null unique,
    prev_hash text not null,
    hash text not null
);

-- Daily anchors: a Merkle root over the seals since the previous anchor, signed by a key that the database does not have, and written to
-- the process log. They reveal a chain that was cut off at its end or rewritten.
create table audit_anchors (
    from_position bigint primary key check (from_position >= 1),
    to_position bigint not null unique,
    -- The last day of the anchored entries, in UTC.
    day text not null,
    root text not null,
    -- The hash of the seal at `to_position`.
    head_hash text not null,
    signature text not null,
    created_at timestamptz not null,
    check (to_position >= from_position)
);
