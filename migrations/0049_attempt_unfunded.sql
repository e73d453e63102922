-- A lane asks before each signature whether it waits for funds, and looked through all of its transactions that are not final for the answer.
-- This index holds those that wait, so it is nearly always empty.
create index attempts_unfunded on attempts (lane_id)
    where open and block_number is null and substr(last_answer, 1, 18) = 'insufficient_funds';
