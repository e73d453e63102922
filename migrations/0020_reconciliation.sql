-- Reconciliation: a run compares the chain with the database. Its parts are done one at a time, so a crash repeats one part at most.
create table reconciliation_runs (
    id text primary key,
    status text not null check (status in ('running', 'completed', 'failed')),
    -- Null: every offering.
    offering_id text references offerings (id),
    -- A block of the past. Null: the newest block that was read.
    at_block bigint check (at_block >= 0),
    findings bigint not null,
    error text,
    requested_by text not null,
    next_action_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    completed_at timestamptz
);
create index reconciliation_runs_by_status on reconciliation_runs (status, id);
create index reconciliation_runs_due on reconciliation_runs (next_action_at) where status = 'running';

-- A part is one token, or the signers of one chain, at one final block.
create table reconciliation_parts (
    run_id text not null references reconciliation_runs (id),
    position bigint not null,
    subject_type text not null check (subject_type in ('offering', 'chain')),
    subject_id text not null,
    chain_id bigint not null,
    block_number bigint,
    block_hash text,
    -- How many values were compared, and how many calls to a node that took.
    compared bigint not null,
    calls bigint not null,
    done_at timestamptz,
    primary key (run_id, position)
);

-- The differences that a part found.
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
