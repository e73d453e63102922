-- The business limits that two admins agreed on. A version is never changed. The newest one holds; without one, the configuration holds.
-- The approver is on the approval, whose subject is the version.
create table policies (
    version bigint primary key check (version > 0),
    limits jsonb not null,
    reason text not null,
    created_by text not null references users (id),
    created_at timestamptz not null
);
