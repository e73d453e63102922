-- Mails about events: what a user wants to be told, and what waits to be mailed.
create table alert_settings (
    user_id text primary key references users (id),
    -- A JSON list of rules. Each names event types, offerings and how soon.
    rules jsonb not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);

-- One row for a user and a cause, which is an event type or `digest`. It counts what happened since the last mail, so a flood of events
-- is one row and one mail an hour.
create table alert_mails (
    id text primary key,
    user_id text not null references users (id),
    cause text not null,
    -- The events that wait: a JSON object from the type to the number.
    waiting jsonb not null,
    -- The last of them.
    event_id text not null,
    -- When the mail is sent. Null if nothing waits.
    try_at timestamptz,
    -- The next mail of this cause is not sent before this time.
    free_at timestamptz not null,
    tries bigint not null check (tries >= 0),
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (user_id, cause)
);
create index alert_mails_due on alert_mails (try_at) where try_at is not null;
