-- People log in: the roles of each, a password, sessions that every request reads, a second factor, and the memory of failed attempts.
-- The list of roles holds the exclusions: an auditor is nothing else, and staff neither invests nor offers.
alter table users add column roles text not null default 'investor' check (roles in ('investor', 'issuer', 'investor issuer', 'operator',
    'admin', 'operator admin', 'auditor'));
update users set roles = role;
alter table users drop column role;
alter table users add column state text not null default 'active' check (state in ('pending_verification', 'active', 'disabled',
    'erased'));
update users set state = status;
alter table users drop column status;
alter table users rename column state to status;
-- None for somebody who was invited and has not set one yet, and for those who act by keys alone.
alter table users add column password_hash text;
alter table users add column email_verified_at timestamptz;
alter table users add column locale text;
alter table users add column issuer_id text references issuers (id);
create unique index investors_by_user on investors (user_id) where user_id is not null;
alter table api_keys add column allowed_cidrs text not null default '';
alter table api_keys add column per_minute bigint;
alter table api_keys add column replaced_by text references api_keys (id);
create index api_keys_by_user on api_keys (user_id, id);
create table sessions (
    id text primary key,
    user_id text not null references users (id),
    -- Which refresh token is the valid one; a token names its generation, so one that was used before is known as such.
    generation bigint not null,
    rotated_at timestamptz not null,
    created_at timestamptz not null,
    last_used_at timestamptz not null,
    idle_expires_at timestamptz not null,
    absolute_expires_at timestamptz not null,
    auth_time timestamptz not null,
    amr text not null,
    step_up_until timestamptz,
    ip text not null,
    user_agent text not null,
    device_name text,
    revoked_at timestamptz,
    revoke_reason text,
    check ((revoked_at is null) = (revoke_reason is null))
);
create index sessions_by_user on sessions (user_id, id);
-- One secret of six-digit codes for each person, sealed with a key that the database does not have.
create table second_factors (
    user_id text primary key references users (id),
    secret_sealed text not null,
    confirmed_at timestamptz,
    -- The time step of the last code that was taken: none is taken twice.
    last_step bigint not null,
    created_at timestamptz not null
);
create table recovery_codes (
    user_id text not null references users (id),
    code_mac text not null,
    used_at timestamptz,
    primary key (user_id, code_mac)
);
-- A link that a mail carries. The token in it is computed from the id and a secret that the database does not have.
create table email_links (
    id text primary key,
    user_id text not null references users (id),
    purpose text not null check (purpose in ('verify_email', 'reset_password', 'invitation')),
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null
);
-- Failed attempts on one subject: an account (by the hash of its address, so that unknown ones count alike), an address of the network,
-- a second factor.
create table attempt_counters (
    subject text primary key,
    failures bigint not null,
    blocked_until timestamptz,
    updated_at timestamptz not null
);
create table login_attempts (
    id text primary key,
    user_id text references users (id),
    ip text not null,
    user_agent text not null,
    outcome text not null check (outcome in ('accepted', 'mfa_required', 'refused', 'throttled')),
    created_at timestamptz not null
);
create index login_attempts_by_user on login_attempts (user_id, id);
create index login_attempts_by_age on login_attempts (created_at);
