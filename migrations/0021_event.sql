-- The outbox that portals read. An event is written in the commit of its change, so neither exists without the other.
create table events (
    id text primary key,
    type text not null,
    subject_type text not null,
    subject_id text not null,
    -- The subject's version. Two events of one subject are in this order.
    sequence bigint not null,
    data jsonb not null,
    created_at timestamptz not null
);
create index events_by_subject on events (subject_id, sequence);
