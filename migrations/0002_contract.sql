-- The contracts of the platform. Each one numbers its own operations.
create table contracts (
    chain_id bigint not null,
    address text not null,
    kind text not null check (kind in ('factory', 'registry', 'token', 'distributor')),
    -- The offering of a token.
    offering_id text,
    -- The address of the code that every token of a factory is a clone of. With it a token's address is known before it is deployed.
    implementation text,
    -- The next operation number of this contract: without gaps, from 1, each given once.
    next_op_number bigint not null check (next_op_number >= 1),
    -- When the configuration last named this contract. Of two factories, the one named last deploys the tokens.
    configured_at timestamptz,
    created_at timestamptz not null,
    primary key (chain_id, address)
);
-- A chain has one factory and as many tokens as offerings. The factory is found without reading the tokens.
create index contracts_by_kind on contracts (chain_id, kind, created_at);
