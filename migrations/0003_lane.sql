-- A lane is one signer on one chain with its own sequence of nonces. `next_nonce` moves only in the commit that stores the bytes signed
-- for it, so a nonce without its bytes cannot exist.
create table lanes (
    id text primary key,
    chain_id bigint not null,
    signer text not null,
    next_nonce bigint not null check (next_nonce >= 0),
    mode text not null check (mode in ('active', 'paused', 'quarantined')),
    mode_reason text,
    -- Set after a restore: the transactions of this signer from this block on may be missing in the database.
    unknown_from bigint,
    -- The chain's view of the signer, as a worker saw it at `observed_at`.
    balance_wei text,
    chain_nonce_latest bigint,
    chain_nonce_pending bigint,
    chain_nonce_finalized bigint,
    -- Whether the contracts accept the signer as an agent.
    is_agent boolean,
    observed_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (chain_id, signer)
);
