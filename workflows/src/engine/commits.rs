//! Commits that the moves of one chain share. Each move is a task of its own and hands in its writes. The first one that does not wait any
//! longer runs those of all in one transaction, so that the database syncs once. If a part fails, the others run again without it, and then
//! it runs by itself: a stale version costs its own move alone.
//!
//! Transactions are sent after the commits of the follower and the lanes, so these share commits with each other alone. All other writes
//! share other ones: verdicts take the database longer than signatures, and the node would have nothing to do meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use muniment_domain::db::{Db, Tx};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};
use tokio::sync::{Mutex, oneshot};
use tokio::time::sleep;

/// The writes that share commits, in their order there. It is that of all transactions: they lock an offering before its operations.
const ORDER: [Point; 5] = [Point::Index, Point::Finalise, Point::Fault, Point::Sign, Point::Follow];

/// What a move writes. It may run several times: with others, and by itself.
pub trait Writes: Send + Sync {
    /// Runs the writes.
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>>;
}

/// How long a move waits for others that can share its commit.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    time: Duration,
    /// The number of waiting moves, this one included, at which the commit begins.
    enough: Option<usize>,
}

impl Patience {
    /// The move is committed at once.
    pub const NONE: Self = Self { time: Duration::ZERO, enough: None };

    /// Waits for this time at most, and until so many moves wait, this one included.
    pub const fn until(enough: usize, time: Duration) -> Self {
        Self { time, enough: Some(enough) }
    }

    fn is_over(&self, waiting: &[Waiting]) -> bool {
        let count = waiting.iter().filter(|one| !one.written.is_closed()).count();
        self.time.is_zero() || self.enough.is_some_and(|enough| count >= enough)
    }
}

impl From<Duration> for Patience {
    fn from(time: Duration) -> Self {
        Self { time, enough: None }
    }
}

/// The commits of one chain.
#[derive(Default)]
pub struct Commits {
    are_shared: AtomicBool,
    /// The commits of the follower and the lanes, which sends wait for.
    of_sends: Shared,
    /// All other commits.
    others: Shared,
}

/// Commits that follow each other.
#[derive(Default)]
struct Shared {
    waiting: StdMutex<Vec<Waiting>>,
    turn: Mutex<()>,
}

struct Waiting {
    point: Point,
    writes: Arc<dyn Writes>,
    written: oneshot::Sender<Result<()>>,
}

impl Commits {
    /// Lets moves share commits from now on. Before, each move has a commit of its own, as in a process that makes one move at a time.
    pub fn share(&self) {
        self.are_shared.store(true, Ordering::Relaxed);
    }

    /// Whether moves share commits.
    pub fn are_shared(&self) -> bool {
        self.are_shared.load(Ordering::Relaxed)
    }

    /// Commits the writes of a move after its patience at most, with those of others that wait by then.
    pub async fn write(
        &self,
        db: &Db,
        point: Point,
        patience: impl Into<Patience>,
        writes: Arc<dyn Writes>,
    ) -> Result<()> {
        let patience = patience.into();
        if !self.are_shared() {
            return alone(db, point, writes.as_ref()).await;
        }
        match point {
            Point::Sign | Point::Follow => self.of_sends.write(db, point, patience, writes).await,
            _ => self.others.write(db, point, patience, writes).await,
        }
    }
}

impl Shared {
    async fn write(&self, db: &Db, point: Point, patience: Patience, writes: Arc<dyn Writes>) -> Result<()> {
        let (written, mut ended) = oneshot::channel();
        let is_over = {
            let mut waiting = self.waiting();
            waiting.push(Waiting { point, writes, written });
            patience.is_over(&waiting)
        };
        let lead = async {
            if !is_over {
                sleep(patience.time).await;
            }
            self.turn.lock().await
        };
        tokio::select! {
            biased;
            ended = &mut ended => ended.unwrap_or_else(|_| dropped()),
            leads = lead => {
                let all = std::mem::take(&mut *self.waiting());
                run(db, all).await;
                drop(leads);
                ended.await.unwrap_or_else(|_| dropped())
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a write in the order of a commit.
fn place(point: Point) -> usize {
    ORDER.iter().position(|shared| *shared == point).unwrap_or(ORDER.len())
}

/// The move that ran the writes was ended in the middle. Nobody knows whether they were committed; the versions of their rows tell.
fn dropped() -> Result<()> {
    Err(Error::Worker("the commit that it shared was ended in the middle".to_owned()))
}

async fn run(db: &Db, mut all: Vec<Waiting>) {
    // A move that has ended meanwhile writes nothing any more.
    all.retain(|one| !one.written.is_closed());
    all.sort_by_key(|one| place(one.point));
    let mut refused = Vec::new();
    while all.len() > 1 {
        let ended = match together(db, &all).await {
            Ended::Committed => Ok(()),
            Ended::Refused(part) => {
                refused.push(all.remove(part));
                continue;
            }
            Ended::Failed(why) => Err(why.to_string()),
        };
        for one in all.drain(..) {
            let failed = |why| Error::Worker(format!("the commit that it shared failed: {why}"));
            _ = one.written.send(ended.clone().map_err(failed));
        }
    }
    for one in all.into_iter().chain(refused) {
        let ended = alone(db, one.point, one.writes.as_ref()).await;
        _ = one.written.send(ended);
    }
}

/// How a shared commit ended.
enum Ended {
    Committed,
    /// Nothing was written, because the writes of this part failed.
    Refused(usize),
    /// The database failed, or its answer to the commit is unknown.
    Failed(Error),
}

async fn together(db: &Db, all: &[Waiting]) -> Ended {
    let mut tx = match db.begin().await {
        Ok(tx) => tx,
        Err(error) => return Ended::Failed(error),
    };
    tx.gather_writes();
    for (part, one) in all.iter().enumerate() {
        let written = match one.writes.write(&mut tx).await {
            Ok(()) => tx.end_part(one.point).await,
            failed => failed,
        };
        match written {
            Ok(()) => {}
            Err(error) if is_silent(&error) => return Ended::Failed(error),
            Err(error) => {
                tracing::debug!("a shared commit is written without one of its parts: {error}");
                return Ended::Refused(part);
            }
        }
    }
    match tx.commit_parts(&all.iter().map(|one| one.point).collect::<Vec<_>>()).await {
        Ok(()) => Ended::Committed,
        Err(error) => Ended::Failed(error),
    }
}

/// Whether the database does not answer, or a test ended the process: then no part is tried by itself.
fn is_silent(error: &Error) -> bool {
    let answered = matches!(error, Error::Database(sqlx::Error::Database(_)));
    error.is_outage() && !answered || matches!(error, Error::Crashed(_))
}

/// Commits the writes of one move.
pub async fn alone(db: &Db, point: Point, writes: &dyn Writes) -> Result<()> {
    let mut tx = db.begin().await?;
    tx.gather_writes();
    writes.write(&mut tx).await?;
    tx.commit(point).await
}
