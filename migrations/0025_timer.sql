-- When a subject is due next, one row for each subject. The row is the truth: a lost wake only makes the work late.
create table timers (
    subject_id text primary key,
    due_at timestamptz not null
);
create index timers_by_time on timers (due_at);
