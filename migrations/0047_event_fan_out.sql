-- The fan-out reads the oldest of the new events in their order. SQLite took the index of positions for it and sorted all new events for
-- each page. An index of positions that holds given ones only leaves it the other one.
drop index events_by_position;
create unique index events_by_position on events (position) where position is not null;
drop index events_to_fan_out;
create index events_to_fan_out on events (created_at, sequence, id) where position is null;
