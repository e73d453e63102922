-- A value that the secrets of `auth.key_file` encrypted when this database was first used with them. Secrets that cannot decrypt it could read
-- no encrypted value of this database either, so a process with such a file does not start. One row at most.
create table secrets_sample (
    id bigint primary key check (id = 1),
    sealed text not null,
    created_at timestamptz not null
);
