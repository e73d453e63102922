-- The outbox: an event is written in the commit of the change it tells of, so that neither exists without the other.
create table events (
    id text primary key,
    type text not null,
    subject_type text not null,
    subject_id text not null,
    sequence bigint not null,
    data jsonb not null,
    created_at timestamptz not null
);
create index events_by_subject on events (subject_id, sequence);
