-- The bank's reference as it is compared, so that another case or blank is no second payment. Null on older rows.
alter table payments add column reference_key text;
create unique index payments_by_reference_key on payments (method, kind, reference_key) where reference_key is not null;
