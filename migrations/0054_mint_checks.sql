-- The results of the rules for a mint: one row for its batch, because all of its subscriptions passed the same rules. `eligibility_checks`
-- keeps those of earlier mints, a row for each subscription.
create table mint_checks (
    batch_id text primary key not null,
    rules_version bigint not null,
    checks jsonb not null,
    created_at timestamptz not null
);
