-- Of two indexes that seem alike to SQLite it takes the younger one. Beside `attempts_by_nonce` it never took the index of what is open, and
-- read everything that a lane has ever signed.
drop index attempts_open;
create index attempts_open on attempts (lane_id, nonce) where open;
