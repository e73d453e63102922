-- Offerings: the terms, the calendar, who may see and buy, who decided, and the token. The token columns change in one place only: the
-- commit that confirms the deployment. Money is in minor units of the currency.
create table offerings (
    id text primary key,
    issuer_id text not null references issuers (id),
    name text not null,
    description text not null default '',
    -- The issuer hosts the picture.
    cover_image_url text,
    status text not null check (status in ('draft', 'in_review', 'approved', 'open', 'paused', 'closed', 'settled', 'failed',
        'cancelled', 'archived')),
    status_reason text,
    visibility text not null default 'public' check (visibility in ('public', 'members', 'private')),
    template text not null check (template in ('real_estate_equity', 'real_estate_debt', 'private_credit', 'fund_units', 'bond',
        'revenue_share')),

    -- The money.
    currency text not null,
    unit_price bigint not null check (unit_price > 0),
    minimum_investment bigint not null check (minimum_investment > 0),
    maximum_investment bigint check (maximum_investment > 0),
    target_amount bigint not null default 0 check (target_amount >= 0),
    soft_cap bigint check (soft_cap > 0),
    hard_cap bigint not null check (hard_cap > 0),
    -- The sum of all unfinished and minted subscriptions. Every move of a subscription keeps it exact.
    committed_total bigint not null default 0 check (committed_total >= 0),
    -- Words with a blank between them.
    payment_methods text not null default 'bank_transfer',

    -- The calendar.
    opens_at timestamptz,
    closes_at timestamptz,
    auto_open boolean not null default false,
    -- Where the day of a record date ends: minutes east of UTC. A fixed offset knows no daylight saving time.
    utc_offset_minutes bigint not null default 0 check (utc_offset_minutes between -720 and 840),
    -- Raised when the end moves. Subscriptions with a lower number still have to recompute their time to withdraw.
    calendar_version bigint not null default 1 check (calendar_version >= 1),

    -- Who may buy. Null hours or days: the values of the exemption's profile. Countries are ISO codes with a blank between them.
    exemption text not null default 'default' check (exemption in ('default', 'reg_cf', 'reg_d_506b', 'reg_d_506c', 'reg_a_t2', 'reg_s',
        'eu_ecsp', 'eu_mica_other', 'uk_rmmi')),
    cooling_off_hours bigint check (cooling_off_hours >= 0),
    kyc_requirement text not null default 'before_mint' check (kyc_requirement in ('before_subscribe', 'before_mint')),
    accreditation_required boolean not null default false,
    allowed_countries text not null default '',
    blocked_countries text not null default '',
    holder_cap bigint check (holder_cap >= 1),
    one_subscription_per_investor boolean not null default false,

    -- The token.
    token_symbol text not null,
    token_decimals bigint not null check (token_decimals between 0 and 18),
    partition_id bigint not null check (partition_id >= 1),
    issuance_policy text not null check (issuance_policy in ('rolling', 'on_close')),
    lockup_days bigint check (lockup_days >= 0),
    lockup_release_at timestamptz,
    chain_id bigint not null,
    token_status text not null check (token_status in ('not_deployed', 'deployed')),
    token_address text,
    token_tx_hash text,
    token_block_number bigint,

    -- The review. The hash is that of the terms as they were approved.
    terms_version bigint not null default 1 check (terms_version >= 1),
    terms_sha256 text,
    submitted_by text,
    submitted_at timestamptz,
    approved_by text,
    published_at timestamptz,
    closed_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((token_status = 'deployed') = (token_address is not null and token_tx_hash is not null))
);
create index offerings_by_status on offerings (status, id);
create index offerings_by_issuer on offerings (issuer_id, id);
create unique index offerings_by_token on offerings (chain_id, token_address) where token_address is not null;
-- For the sorted lists. The columns behind the sort key decide who sees a row, so rows of others are skipped without being read.
create index offerings_newest on offerings (id, visibility, status, issuer_id);
create index offerings_by_name on offerings (name, id, visibility, status);
create index offerings_closing_soonest on offerings ((case when closes_at is null then 1 else 0 end), closes_at, id);
create index offerings_closing_last on offerings ((case when closes_at is null then 1 else 0 end), closes_at desc, id desc);

-- The documents of an offering. The issuer hosts the file; its hash shows whether it was changed.
create table offering_documents (
    id text primary key,
    offering_id text not null references offerings (id),
    kind text not null check (kind in ('memorandum', 'terms', 'risk_factors', 'financials', 'legal_opinion', 'valuation', 'other')),
    title text not null,
    sha256 text not null,
    url text not null,
    version bigint not null check (version >= 1),
    created_by text not null,
    created_at timestamptz not null,
    unique (offering_id, kind, version)
);

-- The amounts that one person minted or paid out without an approval, summed for each offering and day. Small requests that together
-- reach the threshold need an approval like one large request.
create table unaided_days (
    offering_id text not null references offerings (id),
    action text not null check (action in ('mint', 'payout')),
    -- Days since 1970, in UTC.
    day bigint not null,
    amount bigint not null check (amount >= 0),
    primary key (offering_id, action, day)
);
