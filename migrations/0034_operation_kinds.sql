-- Five more kinds of operation. Neither engine changes a CHECK in place by one text, so the column is made again. Every insert names its
-- kind; the default only lets a column that is not null be added beside rows.
drop index operations_by_kind;
alter table operations rename column kind to former_kind;
alter table operations add column kind text not null default 'deploy_token'
    check (kind in ('deploy_token', 'mint', 'freeze', 'unfreeze', 'lock', 'unlock', 'restrict_partition', 'unrestrict_partition',
        'force_transfer', 'recover', 'reinstate', 'redeem', 'release_lock', 'pause', 'unpause', 'payout', 'distributor_payout',
        'audit_declaration'));
update operations set kind = former_kind;
alter table operations drop column former_kind;
create index operations_by_kind on operations (kind, id);
