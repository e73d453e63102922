-- Wallets: the addresses of investors. A lost wallet is kept as retired, with its successor.
create table wallets (
    id text primary key,
    investor_id text not null references investors (id),
    address text not null unique,
    label text,
    is_default boolean not null default false,
    -- When the investor proved to hold the key.
    verified_at timestamptz,
    retired_at timestamptz,
    -- The address that replaced a lost wallet.
    successor text,
    -- The recovery that is about to move units to this address. Meanwhile nobody else can register it.
    reserved_by text references operations (id),
    created_at timestamptz not null
);
create index wallets_by_investor on wallets (investor_id, id);
-- An investor has at most one default wallet.
create unique index wallets_default on wallets (investor_id) where is_default;

-- The message that the holder of a wallet signs to prove it, once, within ten minutes.
create table wallet_challenges (
    id text primary key,
    -- The id that the wallet will have. The wallet need not exist yet.
    wallet_id text not null,
    investor_id text not null references investors (id),
    address text not null,
    label text,
    chain_id bigint not null,
    nonce text not null unique,
    message text not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null
);
create index wallet_challenges_by_wallet on wallet_challenges (wallet_id, id);
-- For deleting challenges that expired long ago.
create index wallet_challenges_by_end on wallet_challenges (expires_at);
