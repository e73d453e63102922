-- An operation is one intent of the platform and the truth about it. The five statuses are the specification's.
create table operations (
    id text primary key,
    kind text not null check (kind in ('deploy_token', 'mint', 'freeze', 'unfreeze', 'lock', 'unlock', 'restrict_partition',
        'unrestrict_partition', 'force_transfer', 'recover', 'payout', 'distributor_payout', 'audit_declaration')),
    status text not null check (status in ('pending', 'submitted', 'confirmed', 'failed', 'dead_letter')),
    resolution text check (resolution in ('confirmed_external', 'abandoned')),
    subject_type text not null,
    subject_id text not null,
    offering_id text,
    batch_id text,
    batch_index bigint not null,
    chain_id bigint not null,
    lane_id text references lanes (id),
    payload jsonb not null,
    payload_sha256 text not null,
    -- While set, nobody else may start an operation with the same key; cleared when this one is confirmed or resolved.
    live_key text unique,
    cycle bigint not null check (cycle >= 1),
    -- Counted transient faults of this cycle. An outage does not count.
    faults bigint not null,
    next_action_at timestamptz,
    blocked_reason text,
    error_stage text check (error_stage in ('preflight', 'broadcast', 'execution', 'effect', 'tracking')),
    error_code text,
    error_message text,
    error_data text,
    -- What the engine proposes to a person after a late success: the hash, never applied by itself.
    suggested_action jsonb,
    tx_hash text,
    requested_by text not null,
    request_id text,
    idempotency_key text,
    version bigint not null,
    created_at timestamptz not null,
    submitted_at timestamptz,
    confirmed_at timestamptz,
    failed_at timestamptz,
    updated_at timestamptz not null,
    check (resolution is null or status in ('confirmed', 'failed', 'dead_letter')),
    check (status <> 'confirmed' or tx_hash is not null),
    unique (requested_by, idempotency_key, batch_index)
);
create index operations_newest on operations (id);
create index operations_by_offering on operations (offering_id, id);
create index operations_by_batch on operations (batch_id, batch_index) where batch_id is not null;
-- The sweep, the lane and the overview read unfinished work only, so that a million finished rows cost them nothing.
create index operations_due on operations (next_action_at) where status in ('pending', 'submitted');
create index operations_pending on operations (chain_id, id) where status = 'pending';
create index operations_unfinished on operations (status, id) where status in ('pending', 'submitted');
create index operations_attention on operations (status, id) where status in ('failed', 'dead_letter') and resolution is null;

-- A step is one contract transaction of an operation. `op_number` is its id on the contract, kept through all attempts and cycles.
create table operation_steps (
    operation_id text not null references operations (id),
    position bigint not null,
    name text not null,
    target text not null,
    calldata bytea not null,
    op_number bigint,
    payload_hash text,
    state text not null check (state in ('unsigned', 'signed', 'included', 'final')),
    outcome text check (outcome in ('success', 'reverted', 'cancelled', 'taken')),
    chain_id bigint not null,
    lane_id text references lanes (id),
    nonce bigint,
    gas_limit bigint,
    tx_hash text,
    block_number bigint,
    block_hash text,
    signed_at timestamptz,
    final_at timestamptz,
    primary key (operation_id, position),
    unique (lane_id, nonce),
    check (state <> 'signed' or (lane_id is not null and nonce is not null)),
    check ((state = 'final') = (outcome is not null)),
    check (state in ('unsigned', 'signed') or block_number is not null)
);
create index operation_steps_signed on operation_steps (lane_id, nonce) where state = 'signed';
create index operation_steps_included on operation_steps (chain_id, block_number) where state = 'included';

-- What an operation is about, one row for each subscription (later entitlement …). While `live` a subject is in one operation only.
create table operation_items (
    operation_id text not null references operations (id),
    subject_type text not null,
    subject_id text not null,
    wallet_address text not null,
    quantity text not null,
    live boolean not null,
    primary key (operation_id, subject_type, subject_id)
);
create unique index operation_items_live on operation_items (subject_type, subject_id) where live;
create index operation_items_by_subject on operation_items (subject_id);

-- Every transition: from, to, when, who and why. `version` is the operation's after the move.
create table operation_history (
    operation_id text not null references operations (id),
    version bigint not null,
    cycle bigint not null,
    from_status text,
    to_status text not null,
    at timestamptz not null,
    actor text not null,
    reason text not null,
    primary key (operation_id, version)
);
