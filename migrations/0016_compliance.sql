-- A lost wallet stays in the books, retired, with the wallet that follows it. A wallet that a recovery is under way to is reserved for
-- its investor by that operation, so that nobody else registers it meanwhile.
alter table wallets add column retired_at timestamptz;
alter table wallets add column successor text;
alter table wallets add column reserved_by text references operations (id);
create index wallets_by_investor on wallets (investor_id, id);
create index subscriptions_by_wallet on subscriptions (wallet_address) where status in ('committed', 'pending_reconfirmation', 'binding',
    'accepted');
