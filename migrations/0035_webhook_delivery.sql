-- How an event reaches an endpoint. The fan-out finds events by the null in `fanned_out_at`, not by a place in a sequence: a commit that
-- shows an event late cannot hide it. Events of the past are not sent.
alter table events add column fanned_out_at timestamptz;
update events set fanned_out_at = created_at;
create index events_to_fan_out on events (id) where fanned_out_at is null;

-- The receiver asked for a pause (Retry-After). And a recovery in progress: the events after this id, up to this time.
alter table webhook_endpoints add column throttled_until timestamptz;
alter table webhook_endpoints add column recover_after text;
alter table webhook_endpoints add column recover_until timestamptz;

-- The bytes of an event, the same for all endpoints and all attempts.
create table webhook_messages (
    event_id text primary key references events (id),
    body text not null,
    created_at timestamptz not null
);
create index webhook_messages_by_time on webhook_messages (created_at);

-- An event for one endpoint. `tries` counts the attempts since the schedule began, `attempts` all of them.
create table webhook_deliveries (
    id text primary key,
    endpoint_id text not null references webhook_endpoints (id),
    event_id text not null references webhook_messages (event_id),
    event_type text not null,
    status text not null check (status in ('pending', 'delivering', 'delivered', 'retrying', 'failed', 'skipped')),
    attempts bigint not null check (attempts >= 0),
    tries bigint not null check (tries >= 0),
    -- When it is sent, or when an attempt counts as lost with its process.
    next_attempt_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (endpoint_id, event_id),
    check ((status in ('pending', 'delivering', 'retrying')) = (next_attempt_at is not null))
);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at)
    where status in ('pending', 'delivering', 'retrying');
create index webhook_deliveries_by_event on webhook_deliveries (event_id);

-- Each request that was sent, and its answer.
create table webhook_attempts (
    id text primary key,
    delivery_id text not null references webhook_deliveries (id),
    endpoint_id text not null references webhook_endpoints (id),
    number bigint not null,
    status_code bigint,
    fault text,
    latency_milliseconds bigint not null,
    response text not null,
    created_at timestamptz not null
);
create index webhook_attempts_by_delivery on webhook_attempts (delivery_id, number);
create index webhook_attempts_by_endpoint on webhook_attempts (endpoint_id, created_at);
