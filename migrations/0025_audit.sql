-- Who did what: one row for each act of a caller, written by the commit of the act itself, so that neither exists without the other.
create table audit_log (
    id text primary key,
    at timestamptz not null,
    -- The person; a key counts as its owner, and is named in the detail. None for somebody who had yet to show who they are.
    actor text,
    actor_kind text not null check (actor_kind in ('person', 'key', 'anonymous', 'host')),
    session_id text,
    ip text,
    action text not null,
    object_type text,
    object_id text,
    -- Canonical JSON: names of events, a status; never a person's data.
    detail text not null,
    request_id text,
    check (actor_kind not in ('person', 'key') or actor is not null)
);
create index audit_log_by_actor on audit_log (actor, id);
create index audit_log_by_action on audit_log (action, id);
create index audit_log_by_object on audit_log (object_id, id);
-- What waits for its seal. Written with the row, so that writers need not wait for each other to be put into an order.
create table audit_unsealed (
    audit_id text primary key
);
-- The chain: each seal is a hash over the one before and the row. What is changed, taken out or put elsewhere afterwards shows. No foreign
-- key: a row that is gone must leave its seal behind. Both tables only grow; the program puts triggers on them that say so, because no
-- text of a trigger is of both engines.
create table audit_seals (
    position bigint primary key check (position >= 1),
    audit_id text not null unique,
    prev_hash text not null,
    hash text not null
);
