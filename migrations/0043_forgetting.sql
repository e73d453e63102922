-- What ended long ago is forgotten by its age: found without reading what still counts.
create index attempt_counters_by_age on attempt_counters (updated_at);
create index sessions_by_end on sessions (absolute_expires_at);
create index email_links_by_end on email_links (expires_at);
create index wallet_challenges_by_end on wallet_challenges (expires_at);
