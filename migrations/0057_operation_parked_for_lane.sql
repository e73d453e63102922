-- PostgreSQL reads an index in the order of its last column only below values that are equal, and `is null` is none to it: it sorted all that
-- is parked for any lane before it took the first. And before it had statistics it took operations_pending, and read all that waits on the
-- chain. The new index is made first, so that others can read meanwhile.
create index operations_parked_for_lane on operations (chain_id, blocked_reason, coalesce(lane_id, ''), id)
    where status = 'pending' and next_action_at is null;
drop index operations_parked;
drop index operations_pending;
