-- What a person who retried allows at most for a unit of gas, in wei; empty for what the market asks for.
alter table operations add column max_fee_per_gas text;
