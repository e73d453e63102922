-- Which process does a job that one process should do at a time, such as following a chain or sweeping. Leases save work only. Safety
-- comes from the guarded updates.
create table leases (
    name text primary key,
    holder text not null,
    -- PostgreSQL: the key of the holder's session lock. A lease is void as soon as nobody holds that lock.
    holder_key bigint not null,
    until timestamptz not null
);
