-- What is written down about an investor by those whose office it is, and never changed: that they are accredited, what is withheld of
-- their payments, and the papers that they signed. Each line says on what it rests.
create table accreditations (
    id text primary key,
    investor_id text not null references investors (id),
    -- The investor's version after it: of two who decide at once one is the next.
    version bigint not null,
    status text not null check (status in ('none', 'verified')),
    basis text not null,
    evidence_sha256 text not null,
    expires_at timestamptz,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);
create table tax_decisions (
    id text primary key,
    investor_id text not null references investors (id),
    version bigint not null,
    rate_basis_points bigint not null check (rate_basis_points between 0 and 10000),
    basis text not null,
    evidence_sha256 text not null,
    decided_by text not null,
    created_at timestamptz not null,
    unique (investor_id, version)
);
create table investor_documents (
    id text primary key,
    investor_id text not null references investors (id),
    kind text not null check (kind in ('subscription_consent', 'power_of_attorney', 'other')),
    -- The file stays where it is; its hash says that it is still the same.
    sha256 text not null,
    created_by text not null,
    created_at timestamptz not null,
    unique (investor_id, sha256, kind)
);

-- To which terms of the platform somebody said yes, and when.
alter table users add column accepted_terms_version text;
alter table users add column accepted_terms_at timestamptz;

-- The same for the last stage; SQLite changes no check of a table that stands.
create table eligibility_checks_of_all_stages (
    subscription_id text not null references subscriptions (id),
    stage text not null check (stage in ('commit', 'accept', 'mint')),
    rules_version bigint not null,
    checks jsonb not null,
    acknowledgements jsonb not null,
    created_at timestamptz not null,
    primary key (subscription_id, stage)
);
insert into eligibility_checks_of_all_stages (subscription_id, stage, rules_version, checks, acknowledgements, created_at)
    select subscription_id, stage, rules_version, checks, acknowledgements, created_at from eligibility_checks;
drop table eligibility_checks;
alter table eligibility_checks_of_all_stages rename to eligibility_checks;
