-- An approval is an action that one person requests and another one approves. Exactly the stored action is executed: the payload is kept
-- as canonical JSON (RFC 8785) with its SHA-256, and both are computed again before the execution.
create table approvals (
    id text primary key,
    action text not null,
    status text not null check (status in ('pending', 'approved', 'executed', 'execution_failed', 'rejected', 'expired', 'cancelled')),
    subject_type text not null,
    subject_id text not null,
    offering_id text,
    amount bigint,
    currency text,
    payload jsonb not null,
    payload_canonical text not null,
    payload_sha256 text not null,
    -- At most one open approval holds a live key. It is cleared when the approval ends.
    live_key text unique,
    -- The requester and the approver are people, never keys: a key counts as its owner.
    maker text not null,
    checker text,
    reason text,
    decision_reason text,
    -- Set when the requester is the only admin: from this time on the requester may approve it too. Cleared when there is another admin.
    alone_from timestamptz,
    error_code text,
    error_message text,
    -- What the execution produced. Each operation or batch comes from one approval at most.
    operation_id text unique references operations (id),
    batch_id text unique,
    request_id text,
    idempotency_key text,
    next_action_at timestamptz,
    version bigint not null,
    created_at timestamptz not null,
    decided_at timestamptz,
    expires_at timestamptz not null,
    updated_at timestamptz not null,
    check (checker is null or checker <> maker),
    check (checker is not null or status in ('pending', 'expired', 'cancelled')),
    check (status = 'executed' or (operation_id is null and batch_id is null)),
    check ((status = 'execution_failed') = (error_code is not null))
);
create index approvals_by_status on approvals (status, id);
create index approvals_by_action on approvals (action, id);
create index approvals_by_maker on approvals (maker, id);
create index approvals_by_key on approvals (maker, idempotency_key) where idempotency_key is not null;
create index approvals_due on approvals (next_action_at) where next_action_at is not null;
create index approvals_alone on approvals (alone_from) where alone_from is not null;

-- Every transition of an approval: who moved it, when and why.
create table approval_history (
    approval_id text not null references approvals (id),
    -- The approval's version after the move.
    version bigint not null,
    -- Null for the first row.
    from_status text,
    to_status text not null,
    at timestamptz not null,
    actor text not null,
    reason text not null,
    primary key (approval_id, version)
);
