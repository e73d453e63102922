-- A comparison of chain and database may be asked for at a block of the past; empty for the newest that is read.
alter table reconciliation_runs add column at_block bigint check (at_block >= 0);
