-- Webhook endpoints: the URLs at which portals and issuers receive events. Lists are words with a blank between them. Headers and secrets
-- are sealed with a key that the database does not have.
create table webhook_endpoints (
    id text primary key,
    -- An investor, an issuer or `platform`. The endpoint receives the events of its owner.
    owner text not null,
    -- The place among the endpoints of one owner, so concurrent requests cannot exceed the limit. Null after deletion.
    slot bigint check (slot >= 1),
    url text not null,
    description text not null,
    event_types text not null,
    offering_ids text,
    headers_sealed text,
    rate_limit_per_minute bigint check (rate_limit_per_minute >= 1),
    status text not null check (status in ('enabled', 'disabled', 'deleted')),
    disabled_reason text,
    api_version text not null,
    first_failed_at timestamptz,
    consecutive_failures bigint not null,
    created_by text not null references users (id),
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (owner, slot),
    check ((status = 'deleted') = (slot is null)),
    check (status <> 'enabled' or disabled_reason is null)
);

-- The secrets that sign webhook requests. After a rotation the old one signs beside the new one until it expires.
create table webhook_secrets (
    id text primary key,
    endpoint_id text not null references webhook_endpoints (id),
    secret_sealed text not null,
    expires_at timestamptz,
    created_at timestamptz not null
);
create index webhook_secrets_by_endpoint on webhook_secrets (endpoint_id, id);
