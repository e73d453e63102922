//! What the database knows of the engine, its chains and its signers, as gauges.

use std::sync::atomic::AtomicU64;

use chrono::{DateTime, Utc};
use muniment_domain::approval::{self, Status as ApprovalStatus};
use muniment_domain::db::{Db, Tx};
use muniment_domain::delivery::{self, Backlog};
use muniment_domain::lane::Mode;
use muniment_domain::operation::{self, Status};
use muniment_domain::{Result, chain, lane, lease, step};
use muniment_workflows::engine::queue_state;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Labels;

/// The gauges of one read.
struct Gauges(Registry);

/// The state at one moment. Each gauge that is 1 or 0 says yes or no.
pub async fn registry(db: &Db) -> Result<Registry> {
    let mut gauges = Gauges(Registry::with_prefix("muniment"));
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    gauges.add("build", "The version of this process", [(version, 1.0)]);
    let mut tx = db.read().await?;
    loops(&mut gauges, &mut tx).await?;
    chains(&mut gauges, &mut tx).await?;
    operations(&mut gauges, &mut tx).await?;
    waiting(&mut gauges, &mut tx).await?;
    Ok(gauges.0)
}

async fn loops(gauges: &mut Gauges, tx: &mut Tx) -> Result<()> {
    let now = tx.now();
    let leases = lease::all(tx).await?;
    let left = leases.into_iter().map(|lease| (vec![("loop", lease.name)], -seconds_since(lease.until, now)));
    gauges.add("loop_lease_seconds", "Time until the lease of a loop ends; below zero the loop stands still", left);
    Ok(())
}

async fn chains(gauges: &mut Gauges, tx: &mut Tx) -> Result<()> {
    let chains = chain::all(tx).await?;
    let each = |value: fn(&chain::Chain) -> f64| {
        let labelled = chains.iter().map(|chain| (of_chain(chain.chain_id), value(chain)));
        labelled.collect::<Vec<_>>()
    };
    gauges.add("chain_head_block", "The newest block", each(|chain| chain.head_number as f64));
    gauges.add("chain_final_block", "The newest final block", each(|chain| chain.final_number as f64));
    gauges.add("chain_halted", "Whether a final block vanished", each(|chain| yes(chain.halted_reason.is_some())));
    gauges.add("chain_unreachable", "Whether no endpoint answers", each(|chain| yes(chain.blocked_reason.is_some())));
    let warned = each(|chain| yes(chain.endpoint_warning.is_some()));
    gauges.add("chain_endpoint_warning", "Whether an endpoint is asked last or never", warned);
    let (mut lanes, mut in_flight) = (Vec::new(), Vec::new());
    for chain in &chains {
        lanes.extend(lane::of_chain(tx, chain.chain_id).await?);
        in_flight.push(step::in_flight_of_chain(tx, chain.chain_id).await?);
    }
    let each = |value: &dyn Fn(&lane::Lane) -> Option<f64>| {
        let labelled = lanes.iter().filter_map(|lane| Some((of_lane(lane), value(lane)?)));
        labelled.collect::<Vec<_>>()
    };
    let balance = |lane: &lane::Lane| lane.balance_wei.map(|wei| wei.0.saturating_to::<u128>() as f64 / 1e18);
    let count = |lane: &lane::Lane| in_flight.iter().find_map(|of| of.get(&lane.id)).map_or(0.0, |count| *count as f64);
    gauges.add("lane_active", "Whether a signer signs", each(&|lane| Some(yes(lane.mode == Mode::Active))));
    gauges.add("lane_next_nonce", "The next nonce of a signer", each(&|lane| Some(lane.next_nonce as f64)));
    gauges.add("lane_in_flight", "Signed transactions that no block includes yet", each(&|lane| Some(count(lane))));
    gauges.add("lane_balance_ether", "The balance for gas, as last observed", each(&balance));
    Ok(())
}

async fn operations(gauges: &mut Gauges, tx: &mut Tx) -> Result<()> {
    let now = tx.now();
    let counted = operation::stats(tx)
        .await?
        .into_iter()
        .map(|(status, kind, count)| (vec![("status", status.to_string()), ("kind", kind.to_string())], count as f64));
    gauges.add("operations", "Operations that are unfinished or need a person", counted);
    let mut ages = Vec::new();
    for status in Status::LIVE {
        if let Some(created) = operation::oldest_at(tx, status).await? {
            ages.push((vec![("status", status.to_string())], seconds_since(created, now)));
        }
    }
    gauges.add("operation_oldest_seconds", "The age of the oldest unfinished operation", ages);
    let jobs = queue_state::waiting(tx).await?.into_iter();
    let jobs = jobs.map(|one| (vec![("queue", one.queue), ("status", one.status)], one.jobs as f64));
    gauges.add("queue_jobs", "Unfinished jobs, at most 10000 of them", jobs);
    Ok(())
}

async fn waiting(gauges: &mut Gauges, tx: &mut Tx) -> Result<()> {
    let filter = approval::Filter { statuses: vec![ApprovalStatus::Pending], ..Default::default() };
    let (_, pending) = approval::list(tx, &filter, 0, 0).await?;
    gauges.add("approvals_pending", "Approvals that wait for a second person", [(Vec::new(), pending as f64)]);
    let (now, backlogs) = (tx.now(), delivery::backlogs(tx, None).await?);
    let each = |value: &dyn Fn(&Backlog) -> f64| {
        let labelled = backlogs.iter().map(|of| (vec![("endpoint", of.endpoint_id.to_string())], value(of)));
        labelled.collect::<Vec<_>>()
    };
    let deliveries = each(&|of| of.deliveries as f64);
    gauges.add("webhook_deliveries_waiting", "Deliveries that an endpoint has not received yet", deliveries);
    let ages = each(&|of| seconds_since(of.oldest_at, now));
    gauges.add(
        "webhook_delivery_oldest_seconds",
        "The age of the oldest delivery that an endpoint has not received",
        ages,
    );
    let events = delivery::fan_out::waiting(tx).await? as f64;
    gauges.add("events_waiting", "Events that are not turned into deliveries and mails yet", [(Vec::new(), events)]);
    Ok(())
}

impl Gauges {
    fn add(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }
}

fn of_chain(chain_id: i64) -> Labels {
    vec![("chain", chain_id.to_string())]
}

fn of_lane(lane: &lane::Lane) -> Labels {
    [of_chain(lane.chain_id), vec![("lane", lane.id.to_string()), ("signer", lane.signer.to_string())]].concat()
}

fn yes(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn seconds_since(then: DateTime<Utc>, now: DateTime<Utc>) -> f64 {
    (now - then).as_seconds_f64()
}
