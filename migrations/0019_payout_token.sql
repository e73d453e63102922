-- The coins that holders can be paid in, as the configuration names them. Each has a signer that pays from its own balance.
create table payout_tokens (
    chain_id bigint not null,
    address text not null,
    symbol text not null,
    decimals bigint not null check (decimals between 2 and 18),
    payer text not null,
    updated_at timestamptz not null,
    primary key (chain_id, address)
);

-- Final, unlimited allowances of a payer to one of our contracts. That is safe: our contracts pull coins from their caller only.
create table payout_allowances (
    chain_id bigint not null,
    asset text not null,
    payer text not null,
    spender text not null,
    operation_id text not null references operations (id),
    granted_at timestamptz not null,
    primary key (chain_id, asset, payer, spender)
);

-- The sum of the payouts signed on one day (UTC, counted from 1970), for the daily limit. The commit of the signed bytes updates it from
-- the value it read, so two processes cannot spend the same room.
create table payout_days (
    chain_id bigint not null references chains (chain_id),
    asset text not null,
    day bigint not null,
    signed text not null,
    primary key (chain_id, asset, day)
);
