-- Investors, their wallets and what they subscribed. A subscription is minted by the commit that confirms its mint, and by no other.
create table investors (
    id text primary key,
    user_id text references users (id),
    legal_name text not null,
    country text not null,
    kyc_status text not null check (kyc_status in ('not_started', 'pending', 'in_review', 'needs_information', 'approved', 'rejected',
        'expired', 'suspended')),
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create table wallets (
    id text primary key,
    investor_id text not null references investors (id),
    address text not null unique,
    verified_at timestamptz,
    created_at timestamptz not null
);
create table subscriptions (
    id text primary key,
    offering_id text not null references offerings (id),
    investor_id text not null references investors (id),
    status text not null check (status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted', 'cancelled', 'rejected',
        'expired', 'refund_pending', 'refunded')),
    amount bigint not null check (amount > 0),
    -- Base units of the token, fixed when the subscription is accepted.
    quantity text,
    wallet_address text,
    cooling_off_expires_at timestamptz not null,
    mint_operation_id text references operations (id),
    mint_tx_hash text,
    mint_block_number bigint,
    minted_at timestamptz,
    lock_release_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (status <> 'minted' or (mint_operation_id is not null and mint_tx_hash is not null))
);
create index subscriptions_by_offering on subscriptions (offering_id, status, id);
create index subscriptions_by_investor on subscriptions (investor_id, id);

-- Balances as of a final block, one row for each holder and partition.
create table holdings (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    partition_id bigint not null,
    balance text not null,
    locked text not null,
    synced_block bigint not null,
    version bigint not null,
    updated_at timestamptz not null,
    primary key (offering_id, wallet_address, partition_id)
);
