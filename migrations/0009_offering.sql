-- Issuers and what they offer. The token columns change in one place only: the commit that confirms the deployment.
create table issuers (
    id text primary key,
    name text not null,
    status text not null check (status in ('pending', 'active', 'suspended')),
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create table offerings (
    id text primary key,
    issuer_id text not null references issuers (id),
    name text not null,
    status text not null check (status in ('draft', 'in_review', 'approved', 'open', 'paused', 'closed', 'settled', 'failed',
        'cancelled', 'archived')),
    template text not null,
    currency text not null,
    minimum_investment bigint not null check (minimum_investment > 0),
    hard_cap bigint not null check (hard_cap > 0),
    unit_price bigint not null check (unit_price > 0),
    token_symbol text not null,
    token_decimals bigint not null check (token_decimals between 0 and 18),
    partition_id bigint not null check (partition_id >= 1),
    issuance_policy text not null check (issuance_policy in ('rolling', 'on_close')),
    lockup_release_at timestamptz,
    chain_id bigint not null,
    token_status text not null check (token_status in ('not_deployed', 'deployed')),
    token_address text,
    token_tx_hash text,
    token_block_number bigint,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((token_status = 'deployed') = (token_address is not null and token_tx_hash is not null))
);
create index offerings_by_status on offerings (status, id);
create unique index offerings_by_token on offerings (chain_id, token_address) where token_address is not null;
