-- Pending operations that wait for a cause to end: a chain, a lane, funds. They have no next time, so the sweep does not read them. A few
-- of each cause are woken now and then, and all of them when it ends.
create index operations_parked on operations (chain_id, blocked_reason, lane_id, id) where status = 'pending' and next_action_at is null;
