-- What our tokens told, in final blocks only, and the books that follow from it: who holds how much, what is locked until when, who is
-- frozen, which partition is restricted. The books are the sum of the events and can be made from them again.
create table token_events (
    chain_id bigint not null,
    block_number bigint not null,
    log_index bigint not null,
    -- The place in an event that tells of several movements.
    line bigint not null,
    block_hash text not null,
    block_at timestamptz not null,
    tx_hash text not null,
    offering_id text not null references offerings (id),
    kind text not null check (kind in ('transfer', 'lock', 'cut', 'hold', 'freeze', 'unfreeze', 'restrict', 'unrestrict', 'recover')),
    -- Null for what concerns an address or all of the token.
    partition_id bigint,
    from_address text,
    to_address text,
    quantity text,
    -- Seconds since 1970; as large as the contract's largest for units that are held without end.
    release_at bigint,
    primary key (chain_id, block_number, log_index, line)
);
create index token_events_by_transaction on token_events (tx_hash);
create index token_events_by_offering on token_events (offering_id, partition_id, block_number) where kind = 'transfer';

-- How far each token is read. A token begins with the block that made it.
create table token_cursors (
    offering_id text primary key references offerings (id),
    chain_id bigint not null,
    token_address text not null,
    made_in bigint not null,
    block_number bigint not null,
    read_at timestamptz not null
);
create index token_cursors_by_chain on token_cursors (chain_id, block_number);

-- What is locked until when, as long as nobody looked after it was due.
create table tranches (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    partition_id bigint not null,
    release_at bigint not null,
    quantity text not null,
    primary key (offering_id, wallet_address, partition_id, release_at)
);

-- What holds for an address in all partitions of a token.
create table token_accounts (
    offering_id text not null references offerings (id),
    wallet_address text not null,
    frozen boolean not null,
    -- Where everything of a lost wallet went.
    successor_address text,
    block_number bigint not null,
    primary key (offering_id, wallet_address)
);

create table token_partitions (
    offering_id text not null references offerings (id),
    partition_id bigint not null,
    restricted boolean not null,
    supply text not null,
    block_number bigint not null,
    primary key (offering_id, partition_id)
);

alter table holdings add column first_acquired_at timestamptz;
alter table holdings drop column locked;

-- What mints credited before is read again from the chain.
delete from holdings;
insert into token_cursors (offering_id, chain_id, token_address, made_in, block_number, read_at)
    select id, chain_id, token_address, token_block_number, token_block_number - 1, updated_at from offerings
    where token_address is not null and token_block_number is not null;
