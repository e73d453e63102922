-- What a restored database must find out before it signs again: from which block on it may have forgotten transactions of a key, and which
-- of the calls found there belong to nothing of the platform, as a person has said.
alter table lanes add column unknown_from bigint;

create table acknowledged_calls (
    chain_id bigint not null references chains (chain_id),
    tx_hash text not null,
    -- A line of the page, from 0, or -1 for the whole call.
    line bigint not null,
    actor text not null,
    acknowledged_at timestamptz not null,
    primary key (chain_id, tx_hash, line)
);
-- Steps that were taken over from the chain: few, and looked for by their transaction.
create index operation_steps_taken_over on operation_steps (chain_id, tx_hash) where nonce is null and tx_hash is not null;

-- When the configuration named a contract last: of two factories the one that it names now makes the tokens.
alter table contracts add column configured_at timestamptz;

-- A key is spent for the request that it came with, so it is kept with the request's method and path.
update operations set idempotency_key = 'POST /blockchain/deploy-token ' || idempotency_key
    where kind = 'deploy_token' and idempotency_key is not null;
update operations set idempotency_key = 'POST /blockchain/trigger-mint ' || idempotency_key
    where kind = 'mint' and idempotency_key is not null;

-- What the payouts signed in one day (of UTC, counted from 1970) come to. It moves in the commit of the signed bytes, from the sum that was
-- read, so that two processes never spend the same room.
create table payout_days (
    chain_id bigint not null references chains (chain_id),
    asset text not null,
    day bigint not null,
    signed text not null,
    primary key (chain_id, asset, day)
);
