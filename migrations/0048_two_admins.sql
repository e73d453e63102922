-- A key of the platform is made after another admin has allowed it: once, and for whoever asked for it.
alter table api_keys add column approval_id text references approvals (id);
create unique index api_keys_by_approval on api_keys (approval_id) where approval_id is not null;

-- From when on somebody who was the only admin when he asked may allow it himself. Cleared for good when another admin is there.
alter table approvals add column alone_from timestamptz;
create index approvals_alone on approvals (alone_from) where alone_from is not null;

-- A mail may also tell the staff of what an admin wants to do alone; it opens nothing. Neither engine's CHECK can be changed in place by one
-- text, so the table is made anew.
create table email_links_anew (
    id text primary key,
    user_id text not null references users (id),
    purpose text not null check (purpose in ('verify_email', 'reset_password', 'invitation', 'notice')),
    -- What a notice is about.
    subject_id text,
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null,
    sent_at timestamptz,
    tries bigint not null default 0,
    try_at timestamptz,
    check ((purpose = 'notice') = (subject_id is not null))
);
insert into email_links_anew (id, user_id, purpose, expires_at, used_at, created_at, sent_at, tries, try_at)
    select id, user_id, purpose, expires_at, used_at, created_at, sent_at, tries, try_at from email_links;
drop table email_links;
alter table email_links_anew rename to email_links;
create index email_links_due on email_links (try_at) where sent_at is null;
create index email_links_by_end on email_links (expires_at);
create index email_links_by_subject on email_links (subject_id) where subject_id is not null;
