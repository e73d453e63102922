-- Why an organisation stands as it does, and its people, found without reading everybody's.
alter table issuers add column status_reason text;
create index users_by_issuer on users (issuer_id, id) where issuer_id is not null;
