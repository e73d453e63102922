-- Distributions: money for the holders of a token, from the balances at a record date to a receipt for each holder. Amounts are in minor
-- units of the currency, base units of the coin where it says units.
create table distributions (
    id text primary key,
    offering_id text not null references offerings (id),
    kind text not null check (kind in ('dividend', 'interest', 'rent', 'principal', 'other')),
    status text not null check (status in ('draft', 'snapshotting', 'snapshotted', 'calculated', 'awaiting_approval', 'approved',
        'executing', 'completed', 'partially_completed', 'cancelled')),
    method text not null check (method in ('direct_payout', 'distributor')),
    currency text not null,
    -- Given in the request, or computed from the amount per unit when the entitlements are calculated.
    total_amount bigint check (total_amount > 0),
    per_unit_amount bigint check (per_unit_amount > 0),
    chain_id bigint not null,
    token_address text not null,
    partition_id bigint not null,
    payout_token text not null,
    payout_symbol text not null,
    payout_decimals bigint not null check (payout_decimals between 2 and 18),
    funding_wallet text not null,
    record_date timestamptz not null,
    payment_date timestamptz not null,
    -- Wallets that get nothing, such as the issuer's own treasury. Their units stay in the snapshot.
    excluded_addresses jsonb not null default '[]',
    memo text,
    -- The Merkle root of the list, for a payout through the distributor contract.
    entitlements_root text,
    -- The hash of everything that the approver sees, and the approval.
    list_sha256 text,
    approval_id text,
    -- When the snapshot is tried next, and why it is not taken yet.
    next_action_at timestamptz,
    problem_code text,
    problem_detail text,
    audit_report_sha256 text,
    audit_tx_hash text,
    created_by text not null,
    -- Kept for ever: a repetition of the request after a day must not pay a second time.
    idempotency_key text,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    executed_at timestamptz,
    completed_at timestamptz,
    check (total_amount is not null or per_unit_amount is not null),
    check (entitlements_root is not null or status in ('draft', 'snapshotting', 'snapshotted', 'cancelled')),
    check (next_action_at is null or status = 'snapshotting')
);
create index distributions_by_offering on distributions (offering_id, id);
create index distributions_by_status on distributions (status, id);
create unique index distributions_by_key on distributions (created_by, idempotency_key) where idempotency_key is not null;
create index distributions_due on distributions (next_action_at) where status = 'snapshotting';

-- The balances at the last final block of the record date. Rows are written once and never changed.
create table snapshots (
    distribution_id text primary key references distributions (id),
    block_number bigint not null,
    block_hash text not null,
    block_time timestamptz not null,
    total_supply text not null,
    holder_count bigint not null,
    sha256 text not null,
    taken_at timestamptz not null
);
create table snapshot_balances (
    distribution_id text not null references snapshots (distribution_id),
    wallet_address text not null,
    balance text not null,
    primary key (distribution_id, wallet_address)
);
