-- The health of a chain's endpoints, as the worker that follows the chain saw it at `endpoints_seen_at`. It is for people and decides nothing.
alter table chains add column endpoints jsonb;
alter table chains add column endpoints_seen_at timestamptz;
