-- Subscriptions: what an investor committed to buy, the money received for it, and the mint. A subscription becomes minted in the commit
-- that confirms its mint, and in no other.
create table subscriptions (
    id text primary key,
    offering_id text not null references offerings (id),
    investor_id text not null references investors (id),
    status text not null check (status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted', 'cancelled', 'rejected',
        'expired', 'refund_pending', 'refunded')),
    status_reason text,
    amount bigint not null check (amount > 0),
    -- The token's base units, fixed when the subscription is accepted.
    quantity text,
    wallet_address text,
    -- The investor's own reference.
    reference text,
    -- The signed consent by which an operator subscribed for the investor.
    consent_document_id text,

    -- The terms that the subscription is under. After a change of terms the investor reconfirms: `previous_status` is where the
    -- subscription returns to, `reconfirm_by` when it expires.
    terms_version bigint not null default 1,
    previous_status text check (previous_status in ('committed', 'binding')),
    reconfirm_by timestamptz,
    cooling_off_expires_at timestamptz not null,
    -- The offering's calendar version that `cooling_off_expires_at` was computed with.
    calendar_version bigint not null default 1,

    payment_method text,
    payment_due_at timestamptz,
    received_amount bigint not null default 0 check (received_amount >= 0),
    refunded_amount bigint not null default 0 check (refunded_amount >= 0),
    accepted_at timestamptz,

    mint_operation_id text references operations (id),
    mint_tx_hash text,
    mint_block_number bigint,
    minted_at timestamptz,
    lock_release_at timestamptz,

    -- The person who made it, and the key that prevents a second one. The key never expires.
    created_by text,
    idempotency_key text,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (status <> 'minted' or (mint_operation_id is not null and mint_tx_hash is not null))
);
create index subscriptions_by_investor on subscriptions (investor_id, id);
create index subscriptions_by_status on subscriptions (status, id);
create index subscriptions_by_offering_newest on subscriptions (offering_id, id);
-- What an offering has raised is summed from this index alone.
create index subscriptions_by_offering on subscriptions (offering_id, status, id, amount);
-- What one investor has in one offering is read at every new subscription.
create index subscriptions_by_pair on subscriptions (offering_id, investor_id);
create index subscriptions_by_wallet on subscriptions (wallet_address) where status in ('committed', 'pending_reconfirmation', 'binding',
    'accepted');
create unique index subscriptions_by_key on subscriptions (created_by, idempotency_key) where idempotency_key is not null;

-- Money that was received or paid back, as an account shows it. One external reference is entered once.
create table payments (
    id text primary key,
    subscription_id text not null references subscriptions (id),
    kind text not null check (kind in ('received', 'refunded')),
    amount bigint not null check (amount > 0),
    method text not null,
    external_reference text not null,
    -- The bank's time.
    received_at timestamptz not null,
    recorded_by text not null,
    created_at timestamptz not null,
    unique (method, external_reference, kind)
);
create index payments_by_subscription on payments (subscription_id, id);

-- Why a subscription was allowed at each stage, rule by rule, under the rules of that time.
create table eligibility_checks (
    subscription_id text not null references subscriptions (id),
    stage text not null check (stage in ('commit', 'accept', 'mint')),
    rules_version bigint not null,
    checks jsonb not null,
    acknowledgements jsonb not null,
    created_at timestamptz not null,
    primary key (subscription_id, stage)
);
