-- An attempt is one signed transaction of a step: the original, a fee bump or a cancel. All attempts of one cycle share one nonce. The
-- bytes are stored before they are sent for the first time, and only stored bytes are ever sent.
create table attempts (
    chain_id bigint not null,
    tx_hash text not null,
    operation_id text not null,
    -- The step's position in its operation.
    position bigint not null,
    cycle bigint not null,
    -- The attempt's place in its cycle.
    number bigint not null,
    kind text not null check (kind in ('original', 'bump', 'cancel')),
    lane_id text not null references lanes (id),
    nonce bigint not null,
    -- The signed bytes.
    raw bytea not null,
    gas_limit bigint not null,
    max_fee_per_gas text not null,
    max_priority_fee_per_gas text not null,
    -- True until the nonce is used by a final transaction, whatever status the operation has meanwhile.
    open boolean not null,
    signed_at timestamptz not null,
    sent_at timestamptz,
    sends bigint not null,
    -- What the node answered last. It is recorded and decides nothing.
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
