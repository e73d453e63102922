-- What the law of an offering asks of people: what they say they earn in a year and own, in minor units, by which it limits what they put
-- in; and when they were first warned of the risk where it lets them sleep on it. Null: nothing was said, nobody was warned.
alter table investors add column annual_income bigint check (annual_income >= 0);
alter table investors add column net_worth bigint check (net_worth >= 0);
alter table investors add column risk_warned_at timestamptz;
