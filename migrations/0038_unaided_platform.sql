-- The amounts that were minted or paid out without an approval, summed over all offerings for each day: many offerings do not multiply
-- what one person can do alone. Currencies count at par.
create table unaided_platform_days (
    action text not null check (action in ('mint', 'payout')),
    -- Days since 1970, in UTC.
    day bigint not null,
    amount bigint not null check (amount >= 0),
    primary key (action, day)
);
