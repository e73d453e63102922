-- A chain has one factory and as many tokens as offerings: what there is one of is found without reading the tokens.
create index contracts_by_kind on contracts (chain_id, kind, created_at);
