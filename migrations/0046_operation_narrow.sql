-- As in 0045: with an offering or a subject SQLite took the index of kinds, and read all operations of the kind. The narrow indexes are
-- made again, so that they are the younger ones.
drop index operations_by_offering;
create index operations_by_offering on operations (offering_id, id);
drop index operations_by_subject;
create index operations_by_subject on operations (subject_id, id);
