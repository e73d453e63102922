//! What a distribution looks like: to the staff, and to one of its investors.

use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution};
use muniment_domain::entitlement::{self, Entitlement, Totals};
use muniment_domain::money::{self, Money};
use muniment_domain::snapshot::{self, Snapshot};
use muniment_domain::{Result, approval, offering};
use serde_json::{Value, json};

use crate::instant;

/// Everything about one.
pub async fn full(tx: &mut Tx, d: &Distribution) -> Result<Value> {
    let (snapshot, totals) = (snapshot::find(tx, &d.id).await?, entitlement::totals(tx, &d.id).await?);
    let offering = offering::find(tx, &d.offering_id).await?;
    let asked = match &d.approval_id {
        Some(id) => Some(approval::find(tx, id).await?),
        None => None,
    };
    let operations = distribution::operations_of(tx, &d.id).await?;
    let operations: Vec<_> = operations
        .into_iter()
        .map(|(id, status, count)| json!({ "id": id, "status": status, "recipient_count": count }))
        .collect();
    let mut record = facts(d, &offering.name, snapshot.as_ref());
    record["method"] = json!(d.method);
    record["memo"] = json!(d.memo);
    record["funding_wallet"] = json!(d.funding_wallet.0.to_checksum(None));
    record["holder_count"] = json!(snapshot.as_ref().map(|s| s.holder_count));
    record["total_supply"] = json!(snapshot.as_ref().map(|s| s.total_supply.to_string()));
    record["snapshot_sha256"] = json!(snapshot.map(|s| s.sha256));
    record["entitlements_root"] = json!(d.entitlements_root.map(|root| root.to_string()));
    record["totals"] = sums(d, &totals);
    record["problem"] = json!(d.problem_code.as_ref().map(|code| json!({ "code": code, "detail": d.problem_detail })));
    record["operations"] = json!(operations);
    record["approval"] = json!(asked.map(|a| json!({ "id": a.id, "status": a.status })));
    let declared = d.audit_report_sha256.zip(d.audit_tx_hash);
    record["audit_declaration"] = json!(
        declared
            .map(|(report, tx_hash)| { json!({ "tx_hash": tx_hash.to_string(), "report_hash": report.to_string() }) })
    );
    record["created_by"] = json!(d.created_by);
    Ok(record)
}

/// The part of one investor, and of the others nothing.
pub async fn own(tx: &mut Tx, d: &Distribution, user_id: &str) -> Result<Value> {
    let (snapshot, offering) = (snapshot::find(tx, &d.id).await?, offering::find(tx, &d.offering_id).await?);
    let mut parts = Vec::new();
    for e in entitlement::of_user(tx, &d.id, user_id).await? {
        let mut part = line(&e, offering.token_decimals);
        // Who decided what about him is the platform's business; that he waits, and for what, is his.
        for inner in ["investor_id", "operation_id", "note", "version"] {
            if let Some(fields) = part.as_object_mut() {
                fields.remove(inner);
            }
        }
        parts.push(part);
    }
    let mut record = facts(d, &offering.name, snapshot.as_ref());
    if let Some(fields) = record.as_object_mut() {
        fields.remove("total_amount");
    }
    record["my_entitlement"] = parts.first().cloned().unwrap_or_default();
    record["my_entitlements"] = json!(parts);
    Ok(record)
}

/// What everybody sees who sees it at all.
fn facts(d: &Distribution, offering_name: &str, snapshot: Option<&Snapshot>) -> Value {
    json!({
        "id": d.id, "offering_id": d.offering_id, "offering_name": offering_name, "type": d.kind, "status": d.status,
        "currency": d.currency, "total_amount": d.total_amount.map(amount), "per_unit_amount": d.per_unit_amount.map(amount),
        "payout_token": { "address": d.payout_token.0.to_checksum(None), "symbol": d.payout_symbol, "decimals": d.payout_decimals,
            "chain_id": d.chain_id },
        "partition": d.partition_id.to_string(), "record_date": instant::text(d.record_date),
        "record_block": snapshot.map(|s| json!({ "number": s.block_number, "hash": s.block_hash.to_string(),
            "time": instant::text(s.block_time) })),
        "payment_date": instant::text(d.payment_date), "expires_at": null,
        "created_at": instant::text(d.created_at), "updated_at": instant::text(d.updated_at),
        "executed_at": instant::optional(d.executed_at), "completed_at": instant::optional(d.completed_at), "version": d.version,
    })
}

fn sums(d: &Distribution, t: &Totals) -> Value {
    // What the parts come to beside the amount for each unit, which need not be whole cents.
    let rounding = d.total_amount.filter(|_| t.count > 0).map_or(0, |total| total - t.gross);
    json!({ "gross": amount(t.gross), "withholding": amount(t.withholding), "net": amount(t.net), "paid": amount(t.paid),
        "held": amount(t.held), "excluded": amount(t.excluded), "failed": amount(t.failed), "open": amount(t.open),
        "rounding_adjustments": amount(rounding) })
}

/// One entitlement.
pub fn line(e: &Entitlement, token_decimals: i64) -> Value {
    let decimals = u32::try_from(token_decimals).unwrap_or(0);
    json!({
        "id": e.id, "distribution_id": e.distribution_id, "investor_id": e.investor_id,
        "wallet_address": e.wallet_address.0.to_checksum(None), "payee_address": e.payee_address.0.to_checksum(None),
        "balance_at_record": money::quantity(e.balance_at_record.0, decimals), "base_units": e.balance_at_record.to_string(),
        "gross_amount": amount(e.gross), "withholding_rate": percent(e.withholding_rate_basis_points),
        "withholding_amount": amount(e.withholding), "net_amount": amount(e.net), "status": e.status, "hold_reason": e.hold_reason,
        "note": e.note, "operation_id": e.operation_id, "tx_hash": e.tx_hash.map(|h| h.to_string()), "block_number": e.block_number,
        "paid_at": instant::optional(e.paid_at), "version": e.version, "created_at": instant::text(e.created_at),
        "updated_at": instant::text(e.updated_at),
    })
}

/// An amount of cents as people read it.
pub fn amount(minor: i64) -> String {
    Money::from_minor(minor).to_string()
}

/// A rate in percent, with its two decimals.
fn percent(basis_points: i64) -> String {
    amount(basis_points)
}
