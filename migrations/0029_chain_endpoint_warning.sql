-- Names the endpoints of a chain that the worker asks last or never: behind the others, or with a head that they do not have.
alter table chains add column endpoint_warning text;
