-- Wallets that a distribution leaves out, such as the issuer's own treasury: their units are in the snapshot, and get nothing.
alter table distributions add column excluded_addresses jsonb not null default '[]';
