-- Who does a job that one process should do at a time: follow a chain, sweep. For efficiency only; safety is in the guarded updates.
create table leases (
    name text primary key,
    holder text not null,
    -- Key of the holder's session lock on PostgreSQL: while nobody holds it, the lease is void at once.
    holder_key bigint not null,
    until timestamptz not null
);
