-- Investors: who they say they are, what compliance decided about them and until when. Personal documents are sealed with a key that the
-- database does not have, and no answer of the API contains them.
create table investors (
    id text primary key,
    user_id text references users (id),
    kind text not null default 'individual' check (kind in ('individual', 'entity')),
    legal_name text not null,
    country text not null,
    tax_residency text,
    tax_form text not null default 'none' check (tax_form in ('none', 'w9', 'w8ben', 'w8bene', 'self_cert')),
    treaty_country text,

    kyc_status text not null check (kyc_status in ('not_started', 'pending', 'in_review', 'needs_information', 'approved', 'rejected',
        'expired', 'suspended')),
    kyc_level text check (kyc_level in ('basic', 'enhanced')),
    kyc_submitted_at timestamptz,
    kyc_decided_at timestamptz,
    -- A timer ends the approval at this time.
    kyc_expires_at timestamptz,
    kyc_reason_code text,
    sanctions_status text not null default 'not_screened' check (sanctions_status in ('not_screened', 'clear', 'hit')),
    last_screened_at timestamptz,
    accreditation_status text not null default 'none' check (accreditation_status in ('none', 'verified')),
    accreditation_basis text,
    accreditation_expires_at timestamptz,

    -- What the investor declared, in minor units. It sets the investment limit under some exemptions. Null: nothing was declared.
    annual_income bigint check (annual_income >= 0),
    net_worth bigint check (net_worth >= 0),
    -- When the investor was first warned of the risk. Some exemptions demand a waiting time after it.
    risk_warned_at timestamptz,
    -- When personal data was erased. Purchases and payments stay, under an id that names nobody.
    erased_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index investors_by_user on investors (user_id) where user_id is not null;
create index investors_by_kyc on investors (kyc_status, id);
create index investors_by_country on investors (country, id);

-- KYC submissions: a reference to a provider's case, or the data itself, sealed for this investor.
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

-- Every KYC decision, with who made it and on what evidence. Rows are never changed.
create table kyc_decisions (
    id text primary key,
    investor_id text not null references investors (id),
    case_id text references kyc_cases (id),
    -- The investor's version after the decision. Of two concurrent decisions only one can have the next version.
    version bigint not null,
    decision text not null,
    from_status text not null,
    to_status text not null,
    level text,
    reason_code text,
    screening text check (screening in ('not_screened', 'clear', 'hit')),
    evidence_sha256 text,
    expires_at timestamptz,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);

-- Every accreditation decision. Rows are never changed.
create table accreditations (
    id text primary key,
    investor_id text not null references investors (id),
    -- The investor's version after the decision.
    version bigint not null,
    status text not null check (status in ('none', 'verified')),
    basis text not null,
    evidence_sha256 text not null,
    expires_at timestamptz,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);

-- Every decision about the withholding tax of an investor. Rows are never changed.
create table tax_decisions (
    id text primary key,
    investor_id text not null references investors (id),
    -- The investor's version after the decision.
    version bigint not null,
    rate_basis_points bigint not null check (rate_basis_points between 0 and 10000),
    basis text not null,
    evidence_sha256 text not null,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);

-- The withholding rate that holds now. An investor without a row pays no withholding tax.
create table tax_profiles (
    investor_id text primary key references investors (id),
    rate_basis_points bigint not null check (rate_basis_points between 0 and 10000),
    basis text not null,
    updated_at timestamptz not null
);

-- Documents that an investor signed. The file is kept elsewhere; its hash shows whether it was changed.
create table investor_documents (
    id text primary key,
    investor_id text not null references investors (id),
    kind text not null check (kind in ('subscription_consent', 'power_of_attorney', 'other')),
    sha256 text not null,
    created_by text not null,
    created_at timestamptz not null,
    unique (investor_id, sha256, kind)
);
