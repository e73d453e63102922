-- Answers to requests with an Idempotency-Key. Stored in the commit of the effect, given again for 24 hours.
create table idempotency_keys (
    principal text not null,
    method text not null,
    path text not null,
    key text not null,
    -- Another request under the same key is refused.
    fingerprint text not null,
    status bigint not null,
    location text,
    body text not null,
    created_at timestamptz not null,
    primary key (principal, method, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
