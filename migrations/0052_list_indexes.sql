-- Lists that are narrowed by their status, or by whoever asked, are found by an index.
create index approvals_by_maker on approvals (maker, id);
create index issuers_by_status on issuers (status, id);
create index reconciliation_runs_by_status on reconciliation_runs (status, id);
create index distributions_by_status on distributions (status, id);
