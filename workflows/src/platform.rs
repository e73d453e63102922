//! The platform as the engine runs it: every kind of operation, job, timer and sweep. An engine is started with this table.

use futures::FutureExt;
use muniment_activities::chain::Chain;
use muniment_activities::signer::Signer;
use muniment_domain::db::Db;
use muniment_domain::{command as commands, distribution as distributions, offering as offerings};

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
        Job { prefix: "apr", name: "approval", run: |engine, id| approval::run_due(engine, id).boxed() },
        Job { prefix: "dist", name: "snapshot", run: |engine, id| snapshot::act(engine, id).boxed() },
        Job { prefix: "off", name: "offering_timer", run: |engine, id| timer::run(engine, id).boxed() },
        Job { prefix: "sub", name: "subscription_timer", run: |engine, id| timer::run(engine, id).boxed() },
        Job { prefix: "inv", name: "investor_timer", run: |engine, id| timer::run(engine, id).boxed() },
        Job { prefix: "rec", name: "reconciliation", run: |engine, id| reconciliation::advance(engine, id).boxed() },
        Job {
            prefix: commands::ID_PREFIX,
            name: "command",
            run: |engine, id| carry_out::carry_out(engine, id).boxed(),
        },
        Job { prefix: "blk", name: "bulk_command", run: |engine, id| carry_out::carry_out(engine, id).boxed() },
    ],
    timers: &[
        Timer {
            prefix: "off",
            lock: |tx, id| offerings::lock_row(tx, id).map(|locked| locked.map(drop)).boxed(),
            act: |tx, id| offering::on_timer(tx, id).boxed(),
        },
        Timer {
            prefix: "sub",
            lock: |tx, id| subscription::lock_offering_of(tx, id).boxed(),
            act: |tx, id| subscription::on_timer(tx, id).boxed(),
        },
        Timer {
            prefix: "inv",
            lock: |_, _| futures::future::ready(Ok(())).boxed(),
            act: |tx, id| kyc::on_timer(tx, id).boxed(),
        },
        Timer {
            prefix: "dist",
            lock: |tx, id| distributions::lock_row(tx, id).map(|locked| locked.map(drop)).boxed(),
            act: |tx, id| distribution::on_timer(tx, id).map(|acted| acted.map(|()| None)).boxed(),
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
