-- A link that goes to the owner of an address with which somebody wanted to register again: its mail says so.
alter table email_links add column registered_again boolean not null default false;
