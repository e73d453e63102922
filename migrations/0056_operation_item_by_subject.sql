-- Items are looked up by their operation, or while they are live. A mint of ten thousand wrote the index twenty thousand times.
drop index operation_items_by_subject;
