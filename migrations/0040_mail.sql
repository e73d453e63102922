-- When the mail of a link went out, and when it is tried next. Links of before stay as they are: nobody waits for their mails any more.
alter table email_links add column sent_at timestamptz;
alter table email_links add column tries bigint not null default 0;
alter table email_links add column try_at timestamptz;
create index email_links_due on email_links (try_at) where sent_at is null;
