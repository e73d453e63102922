-- What people ask of the engine and what they are shown: wishes that need a key or the chain, the standing of signers as a worker saw it,
-- and runs that compare chain and database. A request only writes a wish; a worker carries it out, and what came of it stays here.
create table wishes (
    id text primary key,
    operation_id text not null references operations (id),
    kind text not null check (kind in ('retry', 'speed_up', 'noop')),
    -- The bulk that it is part of, and its place there: in the order of nonces.
    bulk_id text,
    position bigint not null,
    bump_percent bigint,
    actor text not null,
    reason text not null,
    due_at timestamptz not null,
    done_at timestamptz,
    -- What came of it: a word of the act, or the code of the refusal.
    outcome text,
    detail text,
    created_at timestamptz not null,
    check ((done_at is null) = (outcome is null))
);
create unique index wishes_open on wishes (operation_id, kind) where done_at is null;
create index wishes_due on wishes (due_at, id) where done_at is null;
create index wishes_by_operation on wishes (operation_id, id);
create index wishes_by_bulk on wishes (bulk_id, position) where done_at is null;

-- The chain's side of a lane, as of `observed_at`.
alter table lanes add column chain_nonce_latest bigint;
alter table lanes add column chain_nonce_pending bigint;
alter table lanes add column chain_nonce_finalized bigint;
alter table lanes add column is_agent boolean;
alter table lanes add column observed_at timestamptz;

-- For the lists and the overview, so that none of them reads the whole table.
create index operations_by_kind on operations (kind, id);
create index operations_by_subject on operations (subject_id, id);
create index operations_by_lane on operations (lane_id, id) where lane_id is not null;
create index operations_by_hash on operations (tx_hash) where tx_hash is not null;
create index operations_confirmed on operations (confirmed_at, submitted_at) where status = 'confirmed';

-- One comparison of chain and database. Its parts are done one by one, so that a crash loses at most the one under way.
create table reconciliation_runs (
    id text primary key,
    status text not null check (status in ('running', 'completed', 'failed')),
    offering_id text references offerings (id),
    findings bigint not null,
    error text,
    requested_by text not null,
    next_action_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    completed_at timestamptz
);
create index reconciliation_runs_due on reconciliation_runs (next_action_at) where status = 'running';

-- A part is one token, or one chain's signers, at one final block.
create table reconciliation_parts (
    run_id text not null references reconciliation_runs (id),
    position bigint not null,
    subject_type text not null check (subject_type in ('offering', 'chain')),
    subject_id text not null,
    chain_id bigint not null,
    block_number bigint,
    block_hash text,
    compared bigint not null,
    calls bigint not null,
    done_at timestamptz,
    primary key (run_id, position)
);

create table reconciliation_findings (
    run_id text not null references reconciliation_runs (id),
    position bigint not null,
    number bigint not null,
    kind text not null,
    severity text not null check (severity in ('critical', 'warning')),
    subject text not null,
    expected text,
    actual text,
    suggested_action text not null,
    primary key (run_id, position, number)
);
