-- How far the clock of a development installation was moved forward, so that it does not go back at the next start. One row at most.
create table test_clock (
    id bigint primary key check (id = 1),
    ahead_microseconds bigint not null check (ahead_microseconds >= 0)
);
