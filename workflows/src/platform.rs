//! The platform as the engine runs it: every kind of operation, job, timer and sweep. An engine is started with this table.

use futures::FutureExt;
use muniment_activities::chain::Chain;
use muniment_activities::signer::Signer;
use muniment_domain::db::Db;
use muniment_domain::id::{
    ApprovalId, BulkId, CommandId, DistributionId, InvestorId, OfferingId, RunId, SubscriptionId,
};
use muniment_domain::{distribution as distributions, offering as offerings};

use crate::engine::platform::{Job, Platform, Timer};
use crate::engine::{Engine, StartError, timer};
use crate::investor::kyc;
use crate::operator::{carry_out, command};
use crate::payout::{distribution, snapshot};
use crate::settings::Settings;
use crate::{approval, offering, operations, reconciliation, subscription};

/// The table.
pub static PLATFORM: Platform = Platform {
    kind: operations::of,
    jobs: &[
        Job {
            of: ApprovalId::is_kind_of,
            name: "approval",
            run: |engine, id| async move { approval::run_due(engine, &id.into()).await }.boxed(),
        },
        Job {
            of: DistributionId::is_kind_of,
            name: "snapshot",
            run: |engine, id| async move { snapshot::act(engine, &id.into()).await }.boxed(),
        },
        Job { of: OfferingId::is_kind_of, name: "offering_timer", run: |engine, id| timer::run(engine, id).boxed() },
        Job {
            of: SubscriptionId::is_kind_of,
            name: "subscription_timer",
            run: |engine, id| timer::run(engine, id).boxed(),
        },
        Job { of: InvestorId::is_kind_of, name: "investor_timer", run: |engine, id| timer::run(engine, id).boxed() },
        Job {
            of: RunId::is_kind_of,
            name: "reconciliation",
            run: |engine, id| async move { reconciliation::advance(engine, &id.into()).await }.boxed(),
        },
        Job { of: CommandId::is_kind_of, name: "command", run: |engine, id| carry_out::carry_out(engine, id).boxed() },
        Job {
            of: BulkId::is_kind_of,
            name: "bulk_command",
            run: |engine, id| carry_out::carry_out(engine, id).boxed(),
        },
    ],
    timers: &[
        Timer {
            of: OfferingId::is_kind_of,
            lock: |tx, id| async move { offerings::lock_row(tx, &id.into()).await.map(drop) }.boxed(),
            act: |tx, id| async move { offering::on_timer(tx, &id.into()).await }.boxed(),
        },
        Timer {
            of: SubscriptionId::is_kind_of,
            lock: |tx, id| async move { subscription::lock_offering_of(tx, &id.into()).await }.boxed(),
            act: |tx, id| async move { subscription::on_timer(tx, &id.into()).await }.boxed(),
        },
        Timer {
            of: InvestorId::is_kind_of,
            lock: |_, _| futures::future::ready(Ok(())).boxed(),
            act: |tx, id| async move { kyc::on_timer(tx, &id.into()).await }.boxed(),
        },
        Timer {
            of: DistributionId::is_kind_of,
            lock: |tx, id| async move { distributions::lock_row(tx, &id.into()).await.map(drop) }.boxed(),
            act: |tx, id| async move { distribution::on_timer(tx, &id.into()).await.map(|()| None) }.boxed(),
        },
    ],
    overdue: &[|tx, now| command::sweep(tx, now).boxed(), |tx, now| reconciliation::sweep(tx, now).boxed()],
    sweeps: &[|engine| approval::sweep(engine).boxed(), |engine| snapshot::sweep(engine).boxed()],
    on_restriction: |tx, offering_id| offering::on_token_read(tx, offering_id).boxed(),
};

impl Engine {
    /// Starts an engine of this platform.
    pub async fn start(db: Db, settings: Settings, chains: Vec<(Chain, Vec<Signer>)>) -> Result<Self, StartError> {
        Self::start_with(&PLATFORM, db, settings, chains).await
    }

    /// An engine of this platform without keys and loops: the interface asks the chains with it.
    pub fn reader(db: Db, settings: Settings, chains: Vec<Chain>) -> Self {
        Self::reader_with(&PLATFORM, db, settings, chains)
    }
}
