-- Tokens: what each one was deployed with, its events from final blocks, and the ledger computed from these events. The ledger can be
-- rebuilt from the events at any time.

-- The terms of a deployed token. Written by the commit that confirms the deployment, and by no other.
create table tokens (
    offering_id text primary key references offerings (id),
    name text not null,
    symbol text not null,
    supply_units text not null,
    -- The limit on the number of holders. The platform enforces it; the contract does not know it.
    holder_cap bigint check (holder_cap >= 1),
    partitions jsonb not null,
    created_at timestamptz not null
);

-- The events of our tokens, from final blocks only.
create table token_events (
    chain_id bigint not null,
    block_number bigint not null,
    log_index bigint not null,
    -- The place of a movement in an event that reports several.
    line bigint not null,
    block_hash text not null,
    block_at timestamptz not null,
    tx_hash text not null,
    offering_id text not null references offerings (id),
    kind text not null check (kind in ('transfer', 'lock', 'cut', 'hold', 'freeze', 'unfreeze', 'restrict', 'unrestrict', 'recover')),
    -- Null when the event concerns an address or the whole token.
    partition_id bigint,
    from_address text,
    to_address text,
    quantity text,
    -- Seconds since 1970. Units that are locked without end have the largest value of the contract.
    release_at bigint,
    primary key (chain_id, block_number, log_index, line)
);
create index token_events_by_transaction on token_events (tx_hash);
-- For balances at a past block.
create index token_events_by_offering on token_events (offering_id, partition_id, block_number) where kind = 'transfer';

-- How far the tokens of a chain are read. Tokens that are up to date share this one row, so a block moves one row for all of them.
create table token_reads (
    chain_id bigint primary key,
    -- The ledger of every token that is up to date contains all events up to this block.
    block_number bigint not null,
    -- Raised whenever the position or the set of tokens that share it changes. Of two concurrent readers one starts anew.
    version bigint not null,
    read_at timestamptz not null
);

-- How far each token is read. Reading begins with the block of the deployment.
create table token_cursors (
    offering_id text primary key references offerings (id),
    chain_id bigint not null,
    token_address text not null,
    -- The block of the deployment.
    made_in bigint not null,
    -- new: read for the first time, then it joins the chain's row. chain: up to date; the chain's row says how far, this one does not.
    -- alone: read again by itself, so that it does not delay the others.
    pace text not null default 'new' check (pace in ('new', 'chain', 'alone')),
    block_number bigint not null,
    read_at timestamptz not null
);
create index token_cursors_by_address on token_cursors (chain_id, token_address);
create index token_cursors_apart on token_cursors (chain_id) where pace <> 'chain';

-- How far each token is read, from its own row or from the chain's.
create view token_places as
    select t.offering_id, t.chain_id, t.token_address, t.made_in, t.pace,
        case when t.pace = 'chain' then r.block_number else t.block_number end as block_number,
        case when t.pace = 'chain' then r.read_at else t.read_at end as read_at
    from token_cursors t join token_reads r on r.chain_id = t.chain_id;

-- The ledger: balances as of the last final block that was read, one row for each holder and partition.
create table holdings (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    partition_id bigint not null,
    balance text not null,
    first_acquired_at timestamptz,
    synced_block bigint not null,
    version bigint not null,
    updated_at timestamptz not null,
    primary key (offering_id, wallet_address, partition_id)
);

-- The ledger: locked units by their release time. A row may remain after its release time.
create table tranches (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    partition_id bigint not null,
    release_at bigint not null,
    quantity text not null,
    primary key (offering_id, wallet_address, partition_id, release_at)
);

-- The ledger: the state of an address in all partitions of a token.
create table token_accounts (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    frozen boolean not null,
    -- The wallet that received everything from a lost wallet.
    successor_address text,
    block_number bigint not null,
    primary key (offering_id, wallet_address)
);

-- The ledger: the state of a partition.
create table token_partitions (
    offering_id text not null references offerings (id),
    partition_id bigint not null,
    restricted boolean not null,
    supply text not null,
    block_number bigint not null,
    primary key (offering_id, partition_id)
);
