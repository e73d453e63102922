-- An operation is a durable request for one effect on a chain. Its row is the truth about it. The five statuses are the specification's.
create table operations (
    id text primary key,
    kind text not null check (kind in ('deploy_token', 'mint', 'freeze', 'unfreeze', 'lock', 'unlock', 'restrict_partition',
        'unrestrict_partition', 'force_transfer', 'recover', 'payout', 'distributor_payout', 'audit_declaration')),
    status text not null check (status in ('pending', 'submitted', 'confirmed', 'failed', 'dead_letter')),
    -- What a person decided about an operation that needed attention.
    resolution text check (resolution in ('confirmed_external', 'abandoned')),
    subject_type text not null,
    subject_id text not null,
    offering_id text,
    -- The batch is the request that made this operation, the index its page in that request.
    batch_id text,
    batch_index bigint not null,
    chain_id bigint not null,
    lane_id text references lanes (id),
    payload jsonb not null,
    payload_sha256 text not null,
    -- At most one unfinished operation holds a live key. It is cleared when the operation is confirmed or resolved.
    live_key text unique,
    cycle bigint not null check (cycle >= 1),
    -- Transient faults counted in this cycle. An outage of all endpoints does not count.
    faults bigint not null,
    next_action_at timestamptz,
    blocked_reason text,
    -- The highest fee for one unit of gas, in wei, that the person who retried accepts. Null: the market's fee.
    max_fee_per_gas text,
    error_stage text check (error_stage in ('preflight', 'broadcast', 'execution', 'effect', 'tracking')),
    error_code text,
    error_message text,
    error_data text,
    -- What the engine proposes to a person after a late success, with the hash. The engine never applies it by itself.
    suggested_action jsonb,
    tx_hash text,
    requested_by text not null,
    request_id text,
    -- Stored with the method and path of the request, because a key is spent for one route.
    idempotency_key text,
    version bigint not null,
    created_at timestamptz not null,
    submitted_at timestamptz,
    confirmed_at timestamptz,
    failed_at timestamptz,
    updated_at timestamptz not null,
    check (resolution is null or status in ('confirmed', 'failed', 'dead_letter')),
    check (status <> 'confirmed' or tx_hash is not null),
    -- A request is accepted once, even after its stored answer has expired.
    unique (requested_by, idempotency_key, batch_index)
);
-- For the lists and their filters: a page costs the same however many rows there are.
create index operations_newest on operations (id);
create index operations_by_offering on operations (offering_id, id);
create index operations_by_kind on operations (kind, id);
create index operations_by_subject on operations (subject_id, id);
create index operations_by_batch on operations (batch_id, batch_index) where batch_id is not null;
create index operations_by_lane on operations (lane_id, id) where lane_id is not null;
create index operations_by_hash on operations (tx_hash) where tx_hash is not null;
-- For the sweep, the lanes and the overview: they read unfinished work only, so a million finished rows cost them nothing.
create index operations_due on operations (next_action_at) where status in ('pending', 'submitted');
create index operations_pending on operations (chain_id, id) where status = 'pending';
create index operations_unfinished on operations (status, id) where status in ('pending', 'submitted');
create index operations_attention on operations (status, id) where status in ('failed', 'dead_letter') and resolution is null;
-- For the times from submission to confirmation in the overview.
create index operations_confirmed on operations (confirmed_at, submitted_at) where status = 'confirmed';

-- A step is one contract transaction of an operation.
create table operation_steps (
    operation_id text not null references operations (id),
    position bigint not null,
    name text not null,
    target text not null,
    calldata bytea not null,
    -- The operation's number on its contract. It stays the same through all attempts and cycles.
    op_number bigint,
    payload_hash text,
    state text not null check (state in ('unsigned', 'signed', 'included', 'final')),
    outcome text check (outcome in ('success', 'reverted', 'cancelled', 'taken')),
    chain_id bigint not null,
    lane_id text references lanes (id),
    -- Null for a step that was adopted from the chain: the transaction was not ours.
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
-- Adopted steps are few and are found by their transaction.
create index operation_steps_taken_over on operation_steps (chain_id, tx_hash) where nonce is null and tx_hash is not null;

-- The subjects of an operation: one row for each subscription of a mint or each entitlement of a payout.
create table operation_items (
    operation_id text not null references operations (id),
    subject_type text not null,
    subject_id text not null,
    wallet_address text not null,
    quantity text not null,
    -- A subject is live in at most one operation. The unique index holds that.
    live boolean not null,
    primary key (operation_id, subject_type, subject_id)
);
create unique index operation_items_live on operation_items (subject_type, subject_id) where live;
create index operation_items_by_subject on operation_items (subject_id);

-- Every transition of an operation: who moved it, when and why.
create table operation_history (
    operation_id text not null references operations (id),
    -- The operation's version after the move.
    version bigint not null,
    cycle bigint not null,
    -- Null for the first row.
    from_status text,
    to_status text not null,
    at timestamptz not null,
    actor text not null,
    reason text not null,
    primary key (operation_id, version)
);

-- Transactions that a person named as the proof that an operation succeeded. One transaction proves one operation.
create table claims (
    chain_id bigint not null,
    tx_hash text not null,
    operation_id text not null references operations (id),
    claimed_at timestamptz not null,
    primary key (chain_id, tx_hash)
);
