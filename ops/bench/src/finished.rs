//! Inserts confirmed deployments with all their rows.

use crate::installation::CHAIN_ID;
use crate::seed::{LONG_AGO, Series, for_each};
use crate::view::View;

/// Inserts this number of deployments, each with the last row of its history and its last event.
pub async fn finished(view: &View, series: Series, count: u64) {
    let mut statements = vec![lane(series, count), operations(series, count)];
    statements.extend(parts(series, count));
    view.bulk(&statements).await;
}

fn lane_id(series: Series) -> String {
    series.operation(0).replace("op_", "lan_")
}

/// The lane of all deployments. No process has its key.
fn lane(series: Series, count: u64) -> String {
    let signer = format!("0x{:0>40}", &series.operation(0)[3..]);
    format!(
        "insert into lanes (id, chain_id, signer, next_nonce, mode, version, created_at, updated_at) \
         values ('{}', {CHAIN_ID}, '{signer}', {count}, 'paused', 1, '{LONG_AGO}', '{LONG_AGO}')",
        lane_id(series)
    )
}

fn operations(series: Series, count: u64) -> String {
    let insert = "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_index, chain_id, payload, \
                  payload_sha256, cycle, faults, tx_hash, requested_by, idempotency_key, version, created_at, submitted_at, \
                  confirmed_at, updated_at)";
    let (id, offering, hash, sha) = (series.sql("op"), series.sql("off"), series.hash_sql(), "7".repeat(64));
    let payload = "{\"deployment\":{\"symbol\":\"BENCH\",\"total_cap\":\"500000000000\"}}";
    let select = format!(
        "{id}, 'deploy_token', 'confirmed', 'offering', {offering}, {offering}, 0, {CHAIN_ID}, '{payload}', '{sha}', 1, 0, {hash}, \
         'usr_old', {id}, 3, '{LONG_AGO}', '{LONG_AGO}', '{LONG_AGO}', '{LONG_AGO}'"
    );
    for_each(count, insert, &select)
}

fn parts(series: Series, count: u64) -> [String; 6] {
    let (lane, at) = (format!("'{}'", lane_id(series)), format!("'{LONG_AGO}'"));
    // As long as the bytes of a deployment; nothing reads them.
    let bytes = format!("'\\x{}'", "07".repeat(356));
    let (first, last) = (series.operation(0), series.operation(count - 1));
    let each = format!("from operations o where o.id between '{first}' and '{last}'");
    let nonce = "row_number() over (order by o.id)";
    [
        format!(
            "insert into operation_steps (operation_id, position, name, target, calldata, state, outcome, chain_id, lane_id, nonce, \
             gas_limit, tx_hash, block_number, block_hash, signed_at, final_at) select o.id, 0, 'deployToken', '0x{}', {bytes}, \
             'final', 'success', {CHAIN_ID}, {lane}, {nonce}, 500000, o.tx_hash, 1, o.tx_hash, {at}, {at} {each}",
            "7".repeat(40)
        ),
        format!(
            "insert into attempts (chain_id, tx_hash, operation_id, position, cycle, number, kind, lane_id, nonce, raw, gas_limit, \
             max_fee_per_gas, max_priority_fee_per_gas, open, signed_at, sent_at, sends, block_number, block_hash, receipt) select \
             {CHAIN_ID}, o.tx_hash, o.id, 0, 1, 1, 'original', {lane}, {nonce}, {bytes}, 500000, '1', '1', false, {at}, {at}, 1, 1, \
             o.tx_hash, '{{}}' {each}"
        ),
        format!(
            "insert into operation_history (operation_id, version, cycle, from_status, to_status, at, actor, reason) select o.id, 3, \
             1, 'submitted', 'confirmed', {at}, 'engine', 'final on the chain' {each}"
        ),
        format!(
            "insert into events (id, type, subject_type, subject_id, sequence, data, created_at, position) select 'evt' || \
             substr(o.id, 3), 'operation.confirmed', 'operation', o.id, 3, '{{\"type\":\"deploy_token\"}}', {at}, \
             (select position from event_counters) + {nonce} {each}"
        ),
        // They were fanned out long ago.
        format!("update event_counters set position = position + {count}"),
        format!(
            "insert into idempotency_keys (principal, method, path, key, fingerprint, status, body, created_at) select 'usr_old', \
             'POST', '/blockchain/deploy-token', o.id, '7', 202, '{{}}', {at} {each}"
        ),
    ]
}
