-- What we believe of each chain: where we first met it, how far we have followed it and up to where it is final.
-- `genesis_hash` is written at first contact and compared for ever: another chain behind the same URL stops the lanes.
create table chains (
    chain_id bigint primary key,
    genesis_hash text not null,
    head_number bigint not null,
    head_hash text not null,
    final_number bigint not null,
    final_hash text not null,
    -- Set when the chain contradicts itself (another genesis, a final block that vanished). A person clears it.
    halted_reason text,
    -- Set while no endpoint answers. Clears itself.
    blocked_reason text,
    blocked_since timestamptz,
    version bigint not null,
    updated_at timestamptz not null
);

-- The canonical headers between the final block and the head, kept so that a reorg can be walked back to the common ancestor.
create table chain_blocks (
    chain_id bigint not null references chains (chain_id),
    number bigint not null,
    hash text not null,
    parent_hash text not null,
    primary key (chain_id, number)
);

-- Proof that a nonce of ours was used by somebody else: the transaction itself, as found in a canonical block.
create table foreign_transactions (
    chain_id bigint not null references chains (chain_id),
    signer text not null,
    nonce bigint not null,
    tx_hash text not null,
    block_number bigint not null,
    block_hash text not null,
    seen_at timestamptz not null,
    primary key (chain_id, signer, nonce, tx_hash)
);

-- Contracts of the platform. `next_op_number` numbers the operation ids of that contract: dense, from 1, given once.
create table contracts (
    chain_id bigint not null,
    address text not null,
    kind text not null check (kind in ('factory', 'registry', 'token', 'distributor')),
    offering_id text,
    next_op_number bigint not null check (next_op_number >= 1),
    created_at timestamptz not null,
    primary key (chain_id, address)
);
