-- Operations that are parked on a cause have no next time. The sweep and the lanes read past all of them: the sweep every second, because
-- SQLite took another index for it, and the lanes at each turn, because it had none of its own.
drop index operations_due;
create index operations_due on operations (next_action_at) where next_action_at is not null;
create index operations_in_line on operations (chain_id, id) where status = 'pending' and blocked_reason = 'lane_full';
