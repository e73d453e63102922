-- A lane reads what is parked for it in the order of operations_parked, and nothing of other lanes. The index that held all of them is not
-- needed any longer.
drop index operations_in_line;
