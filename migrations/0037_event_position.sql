-- The order in which events are read. The fan-out numbers events one commit after the other, so an event with a smaller number never
-- appears after one with a larger number was read: a reader who continues after the last number misses nothing and sees nothing twice.
-- An event without a number is not fanned out yet.
alter table events add column position bigint;
update events set position = numbered.number
    from (select id as event_id, row_number() over (order by id) as number from events where fanned_out_at is not null) numbered
    where id = numbered.event_id;
drop index events_to_fan_out;
alter table events drop column fanned_out_at;
create unique index events_by_position on events (position);
create index events_to_fan_out on events (id) where position is null;

-- The last number. One row. Its lock gives the numbers of one commit after those of another.
create table event_counters (
    id bigint primary key check (id = 1),
    position bigint not null
);
insert into event_counters (id, position) select 1, coalesce(max(position), 0) from events;
