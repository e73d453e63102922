-- Reorganisations and failures are rare, and both tables grow for ever. What a reorganisation takes back is open, and what a person looks
-- for has failed, so both are found without reading the finished rows.
create index attempts_included on attempts (chain_id, block_number) where open and block_number is not null;
create index operations_ended_badly on operations (status, id) where status in ('failed', 'dead_letter');
