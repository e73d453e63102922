-- Sessions and what a login needs: the second factor, the links sent by mail, and the counters of failed attempts.

-- A session. Every request reads it, so a revoked session ends at once.
create table sessions (
    id text primary key,
    user_id text not null references users (id),
    -- The generation of the valid refresh token. A token carries its generation, so the use of an old one is noticed.
    generation bigint not null,
    rotated_at timestamptz not null,
    created_at timestamptz not null,
    last_used_at timestamptz not null,
    idle_expires_at timestamptz not null,
    absolute_expires_at timestamptz not null,
    -- When and how the person last authenticated.
    auth_time timestamptz not null,
    amr text not null,
    -- Until when actions are allowed that need a fresh authentication.
    step_up_until timestamptz,
    ip text not null,
    user_agent text not null,
    device_name text,
    revoked_at timestamptz,
    revoke_reason text,
    check ((revoked_at is null) = (revoke_reason is null))
);
create index sessions_by_user on sessions (user_id, id);
-- For deleting sessions that ended long ago.
create index sessions_by_end on sessions (absolute_expires_at);

-- The secret for six-digit codes (TOTP), one for each person. It is sealed with a key that the database does not have.
create table second_factors (
    user_id text primary key references users (id),
    secret_sealed text not null,
    confirmed_at timestamptz,
    -- The time step of the last accepted code. A code is accepted once.
    last_step bigint not null,
    created_at timestamptz not null
);
create table recovery_codes (
    user_id text not null references users (id),
    code_mac text not null,
    used_at timestamptz,
    primary key (user_id, code_mac)
);

-- A mail to send, and the link in it. The token of the link is computed from the id and a secret that the database does not have.
create table email_links (
    id text primary key,
    user_id text not null references users (id),
    -- A notice tells the staff what an admin is about to do alone. Its link opens nothing.
    purpose text not null check (purpose in ('verify_email', 'reset_password', 'invitation', 'notice')),
    -- What a notice is about.
    subject_id text,
    -- True when somebody tried to register an address that has an account already. The mail says so to the owner.
    registered_again boolean not null default false,
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null,
    -- When the mail was handed over, how often that was tried, and when it is tried next.
    sent_at timestamptz,
    tries bigint not null default 0,
    try_at timestamptz,
    check ((purpose = 'notice') = (subject_id is not null))
);
create index email_links_due on email_links (try_at) where sent_at is null;
create index email_links_by_subject on email_links (subject_id) where subject_id is not null;
-- For deleting links that expired long ago.
create index email_links_by_end on email_links (expires_at);

-- Failed attempts, counted for an account (by the hash of its address, so that unknown ones count alike), a network address or a second
-- factor.
create table attempt_counters (
    subject text primary key,
    failures bigint not null,
    blocked_until timestamptz,
    updated_at timestamptz not null
);
-- For deleting counters that are too old to matter.
create index attempt_counters_by_age on attempt_counters (updated_at);

-- Logins as the person sees them in the account.
create table login_attempts (
    id text primary key,
    -- Null when the address has no account.
    user_id text references users (id),
    ip text not null,
    user_agent text not null,
    outcome text not null check (outcome in ('accepted', 'mfa_required', 'refused', 'throttled')),
    created_at timestamptz not null
);
create index login_attempts_by_user on login_attempts (user_id, id);
create index login_attempts_by_age on login_attempts (created_at);
