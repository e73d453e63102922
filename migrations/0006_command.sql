-- Commands are accepted instructions of an operator that need a key or the chain. The request only writes the row. A worker carries it
-- out later and records the outcome here.
create table commands (
    id text primary key,
    operation_id text not null references operations (id),
    kind text not null check (kind in ('retry', 'speed_up', 'noop')),
    -- The bulk request that the command belongs to, and its place in it, in the order of nonces.
    bulk_id text,
    position bigint not null,
    -- For `speed_up`: by how many percent the fee is raised.
    bump_percent bigint,
    actor text not null,
    reason text not null,
    due_at timestamptz not null,
    done_at timestamptz,
    -- The result of the command, or the error code of its refusal.
    outcome text,
    detail text,
    created_at timestamptz not null,
    check ((done_at is null) = (outcome is null))
);
-- The same command cannot be open twice for one operation.
create unique index commands_open on commands (operation_id, kind) where done_at is null;
create index commands_due on commands (due_at, id) where done_at is null;
create index commands_by_operation on commands (operation_id, id);
create index commands_by_bulk on commands (bulk_id, position) where done_at is null;
