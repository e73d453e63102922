-- What becomes of a subscription after it was made: the money that came and went, the terms that it is under, and why it was allowed.
alter table subscriptions add column terms_version bigint not null default 1;
-- The investor's own words for it.
alter table subscriptions add column reference text;
-- The person who made it, and the key under which that is never made twice.
alter table subscriptions add column created_by text;
alter table subscriptions add column idempotency_key text;
-- The paper by which an investor let an operator subscribe.
alter table subscriptions add column consent_document_id text;
alter table subscriptions add column status_reason text;
-- Where a yes to changed terms leads back to, and until when silence is none.
alter table subscriptions add column previous_status text check (previous_status in ('committed', 'binding'));
alter table subscriptions add column reconfirm_by timestamptz;
alter table subscriptions add column payment_due_at timestamptz;
alter table subscriptions add column payment_method text;
alter table subscriptions add column received_amount bigint not null default 0 check (received_amount >= 0);
alter table subscriptions add column refunded_amount bigint not null default 0 check (refunded_amount >= 0);
alter table subscriptions add column accepted_at timestamptz;
update subscriptions set received_amount = amount where status in ('accepted', 'minted');
create unique index subscriptions_by_key on subscriptions (created_by, idempotency_key) where idempotency_key is not null;

-- Money as it was seen on an account. What a bank calls by one reference is entered once.
create table payments (
    id text primary key,
    subscription_id text not null references subscriptions (id),
    kind text not null check (kind in ('received', 'refunded')),
    amount bigint not null check (amount > 0),
    method text not null,
    external_reference text not null,
    -- When it moved, by the bank's word.
    received_at timestamptz not null,
    recorded_by text not null,
    created_at timestamptz not null,
    unique (method, external_reference, kind)
);
create index payments_by_subscription on payments (subscription_id, id);

-- Why a subscription was allowed at each stage, rule by rule, by the rules as they stood.
create table eligibility_checks (
    subscription_id text not null references subscriptions (id),
    stage text not null check (stage in ('commit', 'accept')),
    rules_version bigint not null,
    checks jsonb not null,
    acknowledgements jsonb not null,
    created_at timestamptz not null,
    primary key (subscription_id, stage)
);
