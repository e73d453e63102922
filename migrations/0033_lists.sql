-- A list finds its page by an index alone, whichever way it is sorted or narrowed and however much there is.
create index subscriptions_by_offering_newest on subscriptions (offering_id, id);
create index subscriptions_by_status on subscriptions (status, id);
-- What decides who sees an offering stands behind the order: the rows of others are passed over without being read.
create index offerings_newest on offerings (id, visibility, status, issuer_id);
create index offerings_by_name on offerings (name, id, visibility, status);
create index offerings_closing_soonest on offerings ((case when closes_at is null then 1 else 0 end), closes_at, id);
create index offerings_closing_last on offerings ((case when closes_at is null then 1 else 0 end), closes_at desc, id desc);
create index investors_by_country on investors (country, id);
-- What one investor has in one offering is asked whenever somebody subscribes, however many others have subscribed.
create index subscriptions_by_pair on subscriptions (offering_id, investor_id);
