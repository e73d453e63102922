-- A distribution remembers for ever under which key it was asked for: a repetition after a day must not pay a second time.
alter table distributions add column idempotency_key text;
create unique index distributions_by_key on distributions (created_by, idempotency_key) where idempotency_key is not null;
-- What a person wants to be told of by mail, as portals keep it: subjects of events, each with yes or no.
alter table users add column notification_prefs jsonb not null default '{}';
create index users_by_status on users (status, id);
-- An invitation was about an e-mail address, which stands in lists and events; now it is about the account that it will make.
update approvals set subject_type = 'user', subject_id = id where subject_type = 'invitation';
-- What an offering has raised is summed up from an index alone.
drop index subscriptions_by_offering;
create index subscriptions_by_offering on subscriptions (offering_id, status, id, amount);
