-- What an investor holds is found by the wallets. Each table's own key begins with the offering, so without these indexes every holding of
-- the platform would be read.
create index holdings_by_wallet on holdings (wallet_address);
create index token_accounts_by_wallet on token_accounts (wallet_address);
