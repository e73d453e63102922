-- When what was known of an investor was forgotten. What they bought and were paid stays, under an id that names nobody.
alter table investors add column erased_at timestamptz;
