-- What of an offering was asked for in one day without a second person. A mint or a payout that was cut into parts below the threshold
-- counts as the whole that it is.
create table unaided_days (
    offering_id text not null references offerings (id),
    action text not null check (action in ('mint', 'payout')),
    -- Days since 1970, in UTC.
    day bigint not null,
    -- Minor units of the offering's currency.
    amount bigint not null check (amount >= 0),
    primary key (offering_id, action, day)
);

-- Where the day of a record date ends: minutes east of UTC. A fixed offset knows no daylight saving time.
alter table offerings add column utc_offset_minutes bigint not null default 0 check (utc_offset_minutes between -720 and 840);
