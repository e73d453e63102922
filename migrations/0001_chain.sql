-- What the platform has verified about each chain: its identity, how far it was followed, and how far it is final. One row a chain.
create table chains (
    chain_id bigint primary key,
    -- Written at the first contact and compared for ever. Another chain behind the same URL halts the chain.
    genesis_hash text not null,
    head_number bigint not null,
    head_hash text not null,
    final_number bigint not null,
    final_hash text not null,
    -- The highest gas limit that the chain accepts for one transaction. A request is cut into pages by it without asking a node.
    gas_cap bigint,
    -- Set when the chain contradicts itself: another genesis, or a final block that vanished. Only a person clears it.
    halted_reason text,
    -- Set while no endpoint answers. It is cleared when one answers again.
    blocked_reason text,
    blocked_since timestamptz,
    version bigint not null,
    updated_at timestamptz not null
);

-- The canonical headers between the final block and the head. A reorg is walked back through them to the common ancestor.
create table chain_blocks (
    chain_id bigint not null references chains (chain_id),
    number bigint not null,
    hash text not null,
    parent_hash text not null,
    primary key (chain_id, number)
);

-- Foreign transactions: they have our signer and nonce, but we did not sign them. The row is the proof, found in a canonical block.
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

-- Contract calls found after a restore that belong to no operation, and that a person has acknowledged as such.
create table acknowledged_calls (
    chain_id bigint not null references chains (chain_id),
    tx_hash text not null,
    -- The line of the page, from 0, or -1 for the whole call.
    line bigint not null,
    actor text not null,
    acknowledged_at timestamptz not null,
    primary key (chain_id, tx_hash, line)
);
