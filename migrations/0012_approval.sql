-- An approval is an action that one person asked for and another one has to allow. What is done is what stands here: the payload is
-- kept as canonical JSON (RFC 8785) with its SHA-256, and both are computed again before anything is executed.
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
    -- While set, the same thing cannot be asked for again; cleared when this one has ended.
    live_key text unique,
    -- People, never keys: a key counts as its owner.
    maker text not null,
    checker text,
    reason text,
    decision_reason text,
    error_code text,
    error_message text,
    -- What came of it. Nothing comes of two approvals.
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
create index approvals_due on approvals (next_action_at) where next_action_at is not null;
create index approvals_by_key on approvals (maker, idempotency_key) where idempotency_key is not null;

-- Who did what with it, and why. `version` is the approval's after the move.
create table approval_history (
    approval_id text not null references approvals (id),
    version bigint not null,
    from_status text,
    to_status text not null,
    at timestamptz not null,
    actor text not null,
    reason text not null,
    primary key (approval_id, version)
);
