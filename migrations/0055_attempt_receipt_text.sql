-- Receipts are kept as text from now on: only the program reads them. One of a page of two hundred holders has 200 KB, and PostgreSQL took
-- longer to parse it than to store it. `receipt` keeps those of before, and of processes of an earlier release that still run.
alter table attempts add column receipt_text text;
