-- Tokens that are with their chain share one place: a block moves one row, however many tokens there are. A token that is behind has a
-- place of its own until it has caught up.
create table token_reads (
    chain_id bigint primary key,
    -- Everything up to this block is in the books of every token that is with the chain.
    block_number bigint not null,
    -- Moved by whatever moves a place or changes who shares it, so that of two who read one begins anew.
    version bigint not null,
    read_at timestamptz not null
);

-- new: read for the first time, together with those that are with the chain, which it joins then; chain: with the chain, its own
-- block_number and read_at say nothing; alone: read again by itself, so that it holds back nobody.
alter table token_cursors add column pace text not null default 'new' check (pace in ('new', 'chain', 'alone'));
drop index token_cursors_by_chain;
create index token_cursors_by_address on token_cursors (chain_id, token_address);
create index token_cursors_apart on token_cursors (chain_id) where pace <> 'chain';

insert into token_reads (chain_id, block_number, version, read_at)
    select chain_id, max(block_number), 1, max(read_at) from token_cursors group by chain_id;
update token_cursors set pace = 'chain'
    where block_number = (select r.block_number from token_reads r where r.chain_id = token_cursors.chain_id);

-- How far each token is read, whoever's place that is.
create view token_places as
    select t.offering_id, t.chain_id, t.token_address, t.made_in, t.pace,
        case when t.pace = 'chain' then r.block_number else t.block_number end as block_number,
        case when t.pace = 'chain' then r.read_at else t.read_at end as read_at
    from token_cursors t join token_reads r on r.chain_id = t.chain_id;
