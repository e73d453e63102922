-- What the token of an offering was deployed with, as its people know it. Written by the commit that confirms the deployment, and by no
-- other.
create table tokens (
    offering_id text primary key references offerings (id),
    name text not null,
    symbol text not null,
    supply_units text not null,
    -- How many holders it may have; the platform keeps it, the chain does not know it.
    holder_cap bigint check (holder_cap >= 1),
    partitions jsonb not null,
    created_at timestamptz not null
);

-- The code that every token of a factory is a clone of: with it the address of a token is known before it is sent.
alter table contracts add column implementation text;

-- The most gas of one transaction, so that a request can be cut into pages without asking anybody.
alter table chains add column gas_cap bigint;
