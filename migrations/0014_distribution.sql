-- Distributions: money for the holders of a token, from the balances at a record date to a receipt for each of them.

-- The coins that holders can be paid in, as the configuration names them, each with the signer that pays from its own balance.
create table payout_tokens (
    chain_id bigint not null,
    address text not null,
    symbol text not null,
    decimals bigint not null check (decimals between 2 and 18),
    payer text not null,
    updated_at timestamptz not null,
    primary key (chain_id, address)
);

-- That a payer allowed a contract of ours to pull a coin, finally and without an end: our contracts pull from their caller alone.
create table payout_allowances (
    chain_id bigint not null,
    asset text not null,
    payer text not null,
    spender text not null,
    operation_id text not null references operations (id),
    granted_at timestamptz not null,
    primary key (chain_id, asset, payer, spender)
);

-- What is withheld of an investor's payments, in hundredths of a percent. Without a row nothing is.
create table tax_profiles (
    investor_id text primary key references investors (id),
    rate_basis_points bigint not null check (rate_basis_points between 0 and 10000),
    basis text not null,
    updated_at timestamptz not null
);

create table distributions (
    id text primary key,
    offering_id text not null references offerings (id),
    kind text not null check (kind in ('dividend', 'interest', 'rent', 'principal', 'other')),
    status text not null check (status in ('draft', 'snapshotting', 'snapshotted', 'calculated', 'awaiting_approval', 'approved',
        'executing', 'completed', 'partially_completed', 'cancelled')),
    method text not null check (method in ('direct_payout', 'distributor')),
    currency text not null,
    -- Said at first, or made of the amount for each unit when the entitlements are calculated.
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
    memo text,
    entitlements_root text,
    -- Hash of everything that a second person says yes to, and the approval that says it.
    list_sha256 text,
    approval_id text,
    -- When the snapshot is looked at again, and why it is not taken yet.
    next_action_at timestamptz,
    problem_code text,
    problem_detail text,
    audit_report_sha256 text,
    audit_tx_hash text,
    created_by text not null,
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
create index distributions_due on distributions (next_action_at) where status = 'snapshotting';

-- Who held how much at the last final block of the record date. Written once, never changed.
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

-- What each holder is to get. The amounts are written once; only what becomes of them moves.
create table entitlements (
    id text primary key,
    distribution_id text not null references distributions (id),
    offering_id text not null,
    investor_id text references investors (id),
    wallet_address text not null,
    -- Where it is paid to: the wallet of the record date, or the one that it was recovered to since.
    payee_address text not null,
    balance_at_record text not null,
    gross bigint not null check (gross >= 0),
    withholding_rate_basis_points bigint not null check (withholding_rate_basis_points between 0 and 10000),
    withholding bigint not null check (withholding >= 0),
    net bigint not null check (net >= 0),
    status text not null check (status in ('calculated', 'held', 'excluded', 'queued', 'paid', 'failed')),
    hold_reason text check (hold_reason in ('frozen', 'kyc_required', 'wallet_required', 'below_dust', 'operator', 'withheld_frozen',
        'withheld_transfer_failed')),
    note text,
    -- The operation that pays it, or the last one that did not.
    operation_id text references operations (id),
    -- Its place in the list that was declared to the distributor.
    line_index bigint,
    tx_hash text,
    block_number bigint,
    paid_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (distribution_id, wallet_address),
    check (gross = withholding + net),
    check ((status = 'held') = (hold_reason is not null)),
    check (status <> 'queued' or operation_id is not null),
    check ((status = 'paid') = (paid_at is not null)),
    check (status <> 'paid' or (tx_hash is not null and net > 0))
);
create index entitlements_by_distribution on entitlements (distribution_id, id);
create index entitlements_by_status on entitlements (distribution_id, status);
create index entitlements_by_operation on entitlements (operation_id) where operation_id is not null;
create index entitlements_by_investor on entitlements (investor_id, id);
create index entitlements_unpaid on entitlements (payee_address) where status in ('calculated', 'held', 'queued', 'failed');

-- The proof that a holder was paid, written by the commit that confirms it. The key is the last wall against a second payment.
create table payout_receipts (
    entitlement_id text primary key references entitlements (id),
    distribution_id text not null references distributions (id),
    operation_id text not null references operations (id),
    chain_id bigint not null,
    tx_hash text not null,
    block_number bigint not null,
    payout_token text not null,
    payee_address text not null,
    units text not null,
    received_at timestamptz not null
);
create index payout_receipts_by_distribution on payout_receipts (distribution_id, entitlement_id);
