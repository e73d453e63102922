-- An attempt is one signed transaction of a step: the original, a fee bump or a cancel. All attempts of a step's cycle share one nonce.
-- The bytes are stored before the first of them goes on the wire, and only stored bytes ever do.
create table attempts (
    chain_id bigint not null,
    tx_hash text not null,
    operation_id text not null,
    position bigint not null,
    cycle bigint not null,
    number bigint not null,
    kind text not null check (kind in ('original', 'bump', 'cancel')),
    lane_id text not null references lanes (id),
    nonce bigint not null,
    raw bytea not null,
    gas_limit bigint not null,
    max_fee_per_gas text not null,
    max_priority_fee_per_gas text not null,
    -- True until the fate of its nonce is final, whatever the operation's status says meanwhile.
    open boolean not null,
    signed_at timestamptz not null,
    sent_at timestamptz,
    sends bigint not null,
    last_answer text,
    block_number bigint,
    block_hash text,
    receipt jsonb,
    primary key (chain_id, tx_hash),
    foreign key (operation_id, position) references operation_steps (operation_id, position),
    unique (operation_id, position, cycle, number)
);
create index attempts_open on attempts (lane_id, nonce) where open;
create index attempts_by_nonce on attempts (lane_id, nonce);

-- A transaction that a person named as the proof of an operation. It proves no other.
create table claims (
    chain_id bigint not null,
    tx_hash text not null,
    operation_id text not null references operations (id),
    claimed_at timestamptz not null,
    primary key (chain_id, tx_hash)
);
