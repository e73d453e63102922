-- When a member of staff last lost that access. For some weeks they still hear what a lone admin does.
alter table users add column staff_until timestamptz;
