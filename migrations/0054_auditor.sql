-- Whether an auditor sees who people are, as two admins decided. Nobody else needs it, and nobody else has it.
alter table users add column pii_read boolean not null default false;
