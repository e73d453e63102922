-- What an issuer says of an offering before anybody subscribes: its terms, its calendar, who may see it and who decided about it.
-- Lists of countries are ISO codes with a space between them.
alter table offerings add column description text not null default '';
alter table offerings add column maximum_investment bigint check (maximum_investment > 0);
alter table offerings add column target_amount bigint not null default 0 check (target_amount >= 0);
alter table offerings add column soft_cap bigint check (soft_cap > 0);
-- The money that subscriptions have reserved: every live one, and what was minted. Each move of a subscription keeps it exact.
alter table offerings add column committed_total bigint not null default 0 check (committed_total >= 0);
alter table offerings add column visibility text not null default 'public' check (visibility in ('public', 'members', 'private'));
alter table offerings add column opens_at timestamptz;
alter table offerings add column closes_at timestamptz;
alter table offerings add column auto_open boolean not null default false;
alter table offerings add column exemption text not null default 'default';
-- Hours; none means those of the exemption's profile.
alter table offerings add column cooling_off_hours bigint check (cooling_off_hours >= 0);
alter table offerings add column lockup_days bigint check (lockup_days >= 0);
alter table offerings add column kyc_requirement text not null default 'before_mint'
    check (kyc_requirement in ('before_subscribe', 'before_mint'));
alter table offerings add column accreditation_required boolean not null default false;
alter table offerings add column allowed_countries text not null default '';
alter table offerings add column blocked_countries text not null default '';
alter table offerings add column holder_cap bigint check (holder_cap >= 1);
alter table offerings add column one_subscription_per_investor boolean not null default false;
alter table offerings add column payment_methods text not null default 'bank_transfer';
alter table offerings add column terms_version bigint not null default 1 check (terms_version >= 1);
-- The hash of the terms as they were approved.
alter table offerings add column terms_sha256 text;
alter table offerings add column status_reason text;
alter table offerings add column submitted_by text;
alter table offerings add column approved_by text;
alter table offerings add column submitted_at timestamptz;
alter table offerings add column published_at timestamptz;
alter table offerings add column closed_at timestamptz;

update offerings set target_amount = hard_cap;
update offerings set committed_total = (select cast(coalesce(sum(s.amount), 0) as bigint) from subscriptions s
    where s.offering_id = offerings.id
    and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted'));

create index offerings_by_issuer on offerings (issuer_id, id);

-- The papers of an offering. The file lies where the issuer keeps it; its hash says that it is still the same.
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

-- What has to be looked at when a time comes, whether or not a wake arrives: one time for each subject, its next.
create table timers (
    subject_id text primary key,
    due_at timestamptz not null
);
create index timers_by_time on timers (due_at);
