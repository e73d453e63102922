-- The business limits as two admins agreed on them. A version is never changed: the newest one holds, and where there is none, the
-- configuration does. Who allowed it stands with its approval, whose subject is the version.
create table policies (
    version bigint primary key check (version > 0),
    limits jsonb not null,
    reason text not null,
    created_by text not null references users (id),
    created_at timestamptz not null
);
