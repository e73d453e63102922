-- Issuers: the organisations that offer.
create table issuers (
    id text primary key,
    name text not null,
    status text not null check (status in ('pending', 'active', 'suspended')),
    status_reason text,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index issuers_by_status on issuers (status, id);
