-- The primary key serves the newest operations as well: this index held the same column.
drop index operations_newest;
