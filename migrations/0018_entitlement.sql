-- Entitlements: what each holder of a snapshot gets. The amounts are written once; only the status moves.
create table entitlements (
    id text primary key,
    distribution_id text not null references distributions (id),
    offering_id text not null,
    investor_id text references investors (id),
    wallet_address text not null,
    -- The wallet that is paid: the one of the record date, or its successor after a recovery.
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
    -- The operation that pays it, or the last one that failed to.
    operation_id text references operations (id),
    -- The place in the list that was declared to the distributor contract.
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
create index entitlements_by_investor on entitlements (investor_id, id);
create index entitlements_by_operation on entitlements (operation_id) where operation_id is not null;
-- For a recovery: the unpaid entitlements of a lost wallet get another payee.
create index entitlements_unpaid on entitlements (payee_address) where status in ('calculated', 'held', 'queued', 'failed');

-- The proof that a holder was paid, written by the commit that confirms the payment. The primary key makes a second payment impossible.
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
