-- Until when the identity must be approved or the amount paid. Null if the identity was approved at the commitment.
alter table subscriptions add column verify_by timestamptz;
