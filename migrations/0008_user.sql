-- People and their keys. A key is stored as its SHA-256; it acts for its owner, never with more than the scopes it was given.
create table users (
    id text primary key,
    email text not null unique,
    name text not null,
    role text not null check (role in ('investor', 'issuer', 'operator', 'admin', 'auditor')),
    status text not null check (status in ('active', 'disabled')),
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create table api_keys (
    id text primary key,
    user_id text not null references users (id),
    name text not null,
    prefix text not null,
    key_sha256 text not null unique,
    scopes text not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    created_at timestamptz not null
);
