-- The roles of a lane's signer, as a worker saw them at `observed_at`: on the whole platform, and those that count for one offering only.
-- An operation goes to a lane whose signer may act for its offering.
alter table lanes add column roles jsonb;
