-- The answer given to a request with an Idempotency-Key, stored in the commit of its effect and given again for 24 hours.
create table idempotency_keys (
    principal text not null,
    method text not null,
    path text not null,
    key text not null,
    fingerprint text not null,
    status bigint not null,
    location text,
    body text not null,
    created_at timestamptz not null,
    primary key (principal, method, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
