-- Invitations of an issuer on its last day with one. A policy limits them: each is a mail to a stranger.
alter table issuers add column invited_on text;
alter table issuers add column invited_count bigint not null default 0 check (invited_count >= 0);
