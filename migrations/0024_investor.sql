-- What the platform knows of an investor: who they say they are, what was decided about it and until when, and how they proved that a
-- wallet is theirs. What a person showed is sealed with a key that the database does not have, and no answer ever holds it.
alter table investors add column kind text not null default 'individual' check (kind in ('individual', 'entity'));
alter table investors add column tax_residency text;
alter table investors add column kyc_level text check (kyc_level in ('basic', 'enhanced'));
alter table investors add column kyc_submitted_at timestamptz;
alter table investors add column kyc_decided_at timestamptz;
-- Until when an approval holds; a timer ends it.
alter table investors add column kyc_expires_at timestamptz;
alter table investors add column kyc_reason_code text;
alter table investors add column accreditation_status text not null default 'none' check (accreditation_status in ('none', 'verified'));
alter table investors add column accreditation_basis text;
alter table investors add column accreditation_expires_at timestamptz;
alter table investors add column sanctions_status text not null default 'not_screened' check (sanctions_status in ('not_screened', 'clear',
    'hit'));
alter table investors add column last_screened_at timestamptz;
alter table investors add column tax_form text not null default 'none' check (tax_form in ('none', 'w9', 'w8ben', 'w8bene', 'self_cert'));
alter table investors add column treaty_country text;
create index investors_by_kyc on investors (kyc_status, id);

-- What was handed in: a reference to a provider, or the data itself, sealed for this investor.
create table kyc_cases (
    id text primary key,
    investor_id text not null references investors (id),
    level text not null check (level in ('basic', 'enhanced')),
    provider_reference text,
    data_sealed text,
    submitted_by text not null,
    created_at timestamptz not null,
    check ((provider_reference is null) <> (data_sealed is null))
);
create index kyc_cases_by_investor on kyc_cases (investor_id, id);

-- Every move of an investor's standing, with who made it and on what evidence. Nothing here is ever changed.
create table kyc_decisions (
    id text primary key,
    investor_id text not null references investors (id),
    case_id text references kyc_cases (id),
    -- The investor's version after it: two decisions cannot both be the next one.
    version bigint not null,
    decision text not null,
    from_status text not null,
    to_status text not null,
    level text,
    reason_code text,
    evidence_sha256 text,
    expires_at timestamptz,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);

alter table wallets add column label text;
alter table wallets add column is_default boolean not null default false;
-- The first wallet that an investor proved was the one that was used.
update wallets set is_default = true where verified_at is not null and retired_at is null and not exists (select 1 from wallets w
    where w.investor_id = wallets.investor_id and w.id < wallets.id and w.verified_at is not null and w.retired_at is null);
create unique index wallets_default on wallets (investor_id) where is_default;

-- A text that whoever holds a wallet's key is asked to sign, once, within ten minutes.
create table wallet_challenges (
    id text primary key,
    -- The wallet as it will be called; it need not exist yet.
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
