-- What a signer spent on gas since a time, as its falling balance shows it: how long the balance lasts. Both are halved from time to time, so
-- that the last days count most.
alter table lanes add column spent_wei text;
alter table lanes add column spent_since timestamptz;
