-- A lane is one signer on one chain with its own sequence of nonces. `next_nonce` moves only in the commit that stores the bytes
-- signed for it, so that a nonce without its bytes cannot exist.
create table lanes (
    id text primary key,
    chain_id bigint not null,
    signer text not null,
    next_nonce bigint not null check (next_nonce >= 0),
    mode text not null check (mode in ('active', 'paused', 'quarantined')),
    mode_reason text,
    balance_wei text,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (chain_id, signer)
);
