-- People who log in. An investor, the people of an issuer and the staff are all users.
create table users (
    id text primary key,
    email text not null unique,
    name text not null,
    -- The roles of one person. An auditor has no other role, and staff neither invest nor offer.
    roles text not null default 'investor' check (roles in ('investor', 'issuer', 'investor issuer', 'operator', 'admin', 'operator admin',
        'auditor')),
    status text not null default 'active' check (status in ('pending_verification', 'active', 'disabled', 'erased')),
    -- The issuer that the person works for.
    issuer_id text references issuers (id),
    -- Null for an invited person without a password yet, and for a user who acts by API keys alone.
    password_hash text,
    email_verified_at timestamptz,
    locale text,
    -- The terms of the platform that the person accepted.
    accepted_terms_version text,
    accepted_terms_at timestamptz,
    -- Which events the person wants by mail: a JSON object from the subject of an event to true or false.
    notification_prefs jsonb not null default '{}',
    -- Whether an auditor may read personal data. Two admins decide it; no other role uses it.
    pii_read boolean not null default false,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index users_by_status on users (status, id);
create index users_by_issuer on users (issuer_id, id) where issuer_id is not null;

-- API keys. A key acts for its owner, within its scopes. Only the SHA-256 of a key is stored.
create table api_keys (
    id text primary key,
    user_id text not null references users (id),
    name text not null,
    -- The first characters of the key. They identify it in lists and logs.
    prefix text not null,
    key_sha256 text not null unique,
    scopes text not null,
    -- Networks that may use the key, with blanks between them. Empty: every network.
    allowed_cidrs text not null default '',
    -- Requests a minute. Null: the configured limit.
    per_minute bigint,
    -- The approval that allowed a key of the platform.
    approval_id text references approvals (id),
    replaced_by text references api_keys (id),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    created_at timestamptz not null
);
create index api_keys_by_user on api_keys (user_id, id);
-- One approval allows one key.
create unique index api_keys_by_approval on api_keys (approval_id) where approval_id is not null;
