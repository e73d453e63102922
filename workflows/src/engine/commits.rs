//! Commits that the moves of one chain share. The follower, the finaliser and the lanes are tasks of their own, but the database syncs
//! once for all of them. Each move hands in its writes. The first move that cannot wait any longer runs them all in one transaction. If a
//! part fails, the others run again without it, and then it runs by itself: a stale version costs its own move alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use muniment_domain::db::{Db, Tx};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, sleep};

/// How long a write waits at most that another one can take along.
const WAIT_MAX: Duration = Duration::from_millis(25);
/// The same while lanes wait for room: more operations wait then than commits can be late.
const WAIT_MAX_UNDER_LOAD: Duration = Duration::from_millis(60);

/// When a write is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// After this time, with all others that wait by then.
    Within(Duration),
    /// With the next such commit, if one is soon to come.
    WithNext,
}

/// The writes that share commits, in their order there. It is that of all transactions: they lock an offering before its operations.
const ORDER: [Point; 5] = [Point::Index, Point::Finalise, Point::Fault, Point::Sign, Point::Follow];

/// What a move writes. It may run several times: with others, and by itself.
pub trait Writes: Send + Sync {
    /// Runs the writes.
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>>;
}

/// The commits of one chain.
#[derive(Default)]
pub struct Commits {
    shares: AtomicBool,
    waiting: StdMutex<Vec<Waiting>>,
    gaps: StdMutex<Gaps>,
    turn: Mutex<()>,
}

/// How far apart the writes are that take others along.
#[derive(Default)]
struct Gaps {
    last: Option<Instant>,
    gap: Duration,
}

impl Gaps {
    fn count(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.gap = (self.gap * 3 + now.saturating_duration_since(last).min(WAIT_MAX_UNDER_LOAD * 2)) / 4;
        }
    }

    /// How long to wait for the next one: not at all if it may not come.
    fn until_next(&self, now: Instant, longest: Duration) -> Duration {
        let comes = |last: &Instant| now.saturating_duration_since(*last) < self.gap * 3 && self.gap <= longest;
        self.last.filter(|last| comes(last)).map_or(Duration::ZERO, |_| (self.gap * 2).min(longest))
    }
}

struct Waiting {
    point: Point,
    writes: Arc<dyn Writes>,
    written: oneshot::Sender<Result<()>>,
}

impl Commits {
    /// Lets moves share commits from now on. Before, each move has a commit of its own, as in a process that makes one move at a time.
    pub fn share(&self) {
        self.shares.store(true, Ordering::Relaxed);
    }

    /// Whether moves share commits.
    pub fn are_shared(&self) -> bool {
        self.shares.load(Ordering::Relaxed)
    }

    /// Commits the writes of a move, alone or with those of others.
    pub async fn write(
        &self,
        db: &Db,
        point: Point,
        turn: Turn,
        is_loaded: bool,
        writes: Arc<dyn Writes>,
    ) -> Result<()> {
        if !self.are_shared() {
            return alone(db, point, writes.as_ref()).await;
        }
        let (written, mut ended) = oneshot::channel();
        let patience = self.patience(turn, is_loaded);
        self.waiting().push(Waiting { point, writes, written });
        let lead = async {
            if !patience.is_zero() {
                sleep(patience).await;
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

    fn patience(&self, turn: Turn, is_loaded: bool) -> Duration {
        let (mut gaps, now) = (self.gaps.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        match turn {
            Turn::Within(patience) => {
                gaps.count(now);
                patience
            }
            Turn::WithNext => gaps.until_next(now, if is_loaded { WAIT_MAX_UNDER_LOAD } else { WAIT_MAX }),
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_write_waits_for_the_next_turn_while_turns_come_often() {
        let (mut gaps, begin) = (Gaps::default(), Instant::now());
        assert_eq!(gaps.until_next(begin, WAIT_MAX), Duration::ZERO, "there was no turn yet");
        gaps.count(begin);
        for turn in 1..=30 {
            gaps.count(begin + milliseconds(10) * turn);
        }
        let last = begin + milliseconds(300);
        let wait = gaps.until_next(last + milliseconds(5), WAIT_MAX);
        assert!((milliseconds(18)..=milliseconds(20)).contains(&wait), "{wait:?}");
        assert_eq!(gaps.until_next(last + milliseconds(31), WAIT_MAX), Duration::ZERO, "they have ended");
        for turn in 1..=30 {
            gaps.count(last + milliseconds(40) * turn);
        }
        let last = last + milliseconds(1_200);
        assert_eq!(gaps.until_next(last, WAIT_MAX), Duration::ZERO, "the next one would be late");
        assert_eq!(gaps.until_next(last, WAIT_MAX_UNDER_LOAD), WAIT_MAX_UNDER_LOAD);
    }
}
