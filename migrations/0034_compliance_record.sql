-- What compliance decided, with what it rests on: the screening beside each decision.
alter table kyc_decisions add column screening text check (screening in ('not_screened', 'clear', 'hit'));

-- An end that is moved moves the time to withdraw that is counted back from it, a page of subscriptions at a time: those that are behind
-- this number have yet to follow.
alter table offerings add column calendar_version bigint not null default 1 check (calendar_version >= 1);
alter table subscriptions add column calendar_version bigint not null default 1;
