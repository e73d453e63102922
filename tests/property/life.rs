//! One life: turns of chance, then calm, in which everything must come to rest.

use std::fmt::Write;

use muniment_domain::operation::WAITS_FOR_LANE;
use muniment_domain::point::{Point, When, plan};
use muniment_domain::sql::sql;
use muniment_domain::{Error, Result, money};
use muniment_workflows::engine::advance::{Next, advance};
use muniment_workflows::engine::prepare::Prepared;
use muniment_workflows::engine::{Engine, StartError};
use muniment_workflows::engine::{finalise, follow, rebroadcast, submit, sweep};
use muniment_workflows::settings::Settings;
use world::Seed;

use crate::node::Weather;
use crate::people::Wish;
use crate::stage::{CHAIN, Stage};
use crate::{books, exit, payday, people};

const TURNS: u64 = 80;
/// How many rounds of calm it may take until nothing is open.
const ROUNDS: u64 = 120;

/// What is lived through.
pub type Lived<T = ()> = std::result::Result<T, String>;

/// A platform under way.
pub struct Life {
    pub stage: Stage,
    pub seed: Seed,
    pub settings: Settings,
    /// None while the process is down.
    pub engine: Option<Engine>,
    /// Requests whose answer was lost: they are made again under the same key.
    pub unanswered: Vec<Wish>,
    pub asked: u64,
    prepared: Vec<Prepared>,
    story: String,
}

impl Life {
    pub fn begin(stage: Stage, number: u64) -> Self {
        let mut seed = Seed::new(number ^ 0x5eed);
        let settings = Settings {
            mint_page_holders: 1 + seed.below(3) as usize,
            payout_page_holders: 1 + seed.below(3) as usize,
            mint_dual_control_threshold: money::MAXIMUM,
            mint_platform_dual_control_threshold: money::MAXIMUM,
            ..Settings::default()
        };
        Self {
            stage,
            seed,
            settings,
            engine: None,
            unanswered: Vec::new(),
            asked: 0,
            prepared: Vec::new(),
            story: String::new(),
        }
    }

    pub fn story(&self) -> String {
        self.story.clone()
    }

    pub fn note(&mut self, line: impl AsRef<str>) {
        let at = self.stage.db.clock().now().timestamp() % 1_000_000;
        writeln!(self.story, "{at} s  {}", line.as_ref()).unwrap();
    }

    pub async fn live(&mut self) -> Lived {
        plan::clear();
        people::begin(self).await?;
        for _ in 0..TURNS {
            self.turn().await?;
        }
        self.rest().await?;
        books::compare(self).await
    }

    async fn turn(&mut self) -> Lived {
        match self.seed.below(13) {
            0..5 => people::ask(self).await?,
            5 => people::operate(self).await?,
            6 | 7 => payday::move_on(self).await?,
            8 => people::trade(self).await?,
            9 => self.change_weather(),
            10 => self.tempt_fate(),
            _ => self.stage.pass_time(1 + self.seed.below(600).cast_signed()),
        }
        exit::is_shown(self).await?;
        self.round().await?;
        exit::is_shown(self).await
    }

    fn change_weather(&mut self) {
        let mut odds = |most: f64| if self.seed.chance(0.5) { most } else { 0.0 };
        let weather = Weather {
            lost_requests: odds(0.1),
            lost_answers: odds(0.2),
            rate_limited: odds(0.1),
            outage: odds(1.0) > 0.9,
        };
        self.note(format!("{weather:?}"));
        self.stage.line.set(weather);
    }

    /// Plans the end of the process at one of its writes.
    fn tempt_fate(&mut self) {
        let point = *self.seed.pick(Point::ALL);
        let when = if self.seed.chance(0.5) { When::Before } else { When::After };
        plan::crash_at(point, when, 1 + self.seed.below(2));
    }

    /// Everything that a process finds to do, once.
    pub async fn round(&mut self) -> Lived {
        self.stage.pass_time(2);
        if self.engine.is_none() && !self.boot().await? {
            return Ok(());
        }
        for id in self.unfinished().await {
            let Some(engine) = self.engine.clone() else { return Ok(()) };
            match advance(&engine, &id.as_str().into()).await {
                Ok(Next::Sign(ready)) => self.prepared.push(*ready),
                Ok(Next::Nothing | Next::Again) => {}
                Err(error) => self.judge(&format!("advance {id}"), Err(error))?,
            }
        }
        self.sign().await?;
        let Some(engine) = self.engine.clone() else { return Ok(()) };
        let network = engine.network(CHAIN).unwrap();
        let followed = follow::follow(&engine, network).await.map(|_| ());
        self.judge("follow", followed)?;
        let settled = finalise::finalise(&engine, network).await.map(|_| ());
        self.judge("finalise", settled)?;
        let tended = rebroadcast::rebroadcast(&engine, network).await;
        self.judge("tend", tended)?;
        let swept = sweep::sweep(&engine).await.map(|_| ());
        self.judge("sweep", swept)?;
        payday::take_snapshots(self).await
    }

    async fn sign(&mut self) -> Lived {
        while let Some(lane) = self.prepared.first().map(|p| p.lane_id.clone()) {
            let Some(engine) = self.engine.clone() else { return Ok(()) };
            let (batch, rest) = std::mem::take(&mut self.prepared).into_iter().partition(|p| p.lane_id == lane);
            self.prepared = rest;
            // What finds no room is prepared again.
            let signed = match submit::submit(&engine, engine.network(CHAIN).unwrap(), &lane, batch).await {
                Ok(rest) => submit::postpone(&engine, rest, WAITS_FOR_LANE).await,
                Err(error) => Err(error),
            };
            self.judge("submit", signed)?;
        }
        Ok(())
    }

    /// A process starts, as far as the line lets it.
    async fn boot(&mut self) -> Lived<bool> {
        let chains = vec![(self.stage.chain(), self.stage.signers.clone())];
        match Engine::start(self.stage.db.clone(), self.settings.clone(), chains).await {
            Ok(engine) => self.engine = Some(engine),
            Err(StartError::Domain(error)) => self.judge("start", Err(error))?,
            Err(StartError::Chain { fault, .. }) => self.note(format!("no start: {fault}")),
            Err(other) => return Err(format!("a process does not start: {other}")),
        }
        Ok(self.engine.is_some())
    }

    /// Refusals are answers, a crash ends the process, and every other error is a fault of ours.
    pub fn judge(&mut self, what: &str, ended: Result<()>) -> Lived {
        match ended {
            Ok(()) => {}
            Err(Error::Crashed(point)) => {
                self.note(format!("{what}: CRASH at {point}"));
                self.engine = None;
                self.prepared.clear();
            }
            Err(stale @ Error::Stale { .. }) => self.note(format!("{what}: {stale}")),
            Err(error) => match error.refusal() {
                Some((code, detail)) => self.note(format!("{what}: {code}: {detail}")),
                None => return Err(format!("{what} failed: {error}")),
            },
        }
        Ok(())
    }

    async fn unfinished(&self) -> Vec<String> {
        self.ids("select id from operations where status in ('pending', 'submitted') order by id").await
    }

    /// The ids that a question finds.
    pub async fn ids(&self, text: &'static str) -> Vec<String> {
        let mut tx = self.stage.db.read().await.unwrap();
        sql(text).scalars(&mut tx).await.unwrap()
    }

    /// Changes rows behind the platform's back, as many as there are.
    pub async fn change(&self, text: &'static str) {
        let mut tx = self.stage.db.begin().await.unwrap();
        let rows = sql(text).execute(&mut tx).await.unwrap();
        tx.commit(Point::Housekeeping).await.unwrap();
        assert!(rows > 0, "there is nothing to change: {text}");
    }

    /// Calm: nothing fails any more, and people finish what waits for them.
    async fn rest(&mut self) -> Lived {
        self.note("calm");
        plan::clear();
        self.stage.line.set(Weather::default());
        while let Some(wish) = self.unanswered.pop() {
            people::answer(self, wish).await?;
        }
        for round in 0..ROUNDS {
            self.stage.pass_time(60);
            if round < 12 {
                payday::move_all(self).await?;
            }
            self.round().await?;
            exit::is_open(self).await?;
            if round % 3 == 2 {
                people::tidy_up(self, round / 3).await?;
                exit::is_shown(self).await?;
            }
            if round >= 12 && self.is_quiet().await {
                return self.tell_the_end().await;
            }
        }
        let open = self
            .ids(
                "select id || ' ' || kind || ' ' || status || ' ' || coalesce(error_code, '') from operations \
            where status <> 'confirmed' and resolution is null order by id",
            )
            .await;
        Err(format!("it never came to rest: {open:#?}"))
    }

    async fn is_quiet(&self) -> bool {
        let open = "select id from operations where status <> 'confirmed' and resolution is null limit 1";
        self.ids(open).await.is_empty() && people::nothing_waits(self).await
    }

    async fn tell_the_end(&mut self) -> Lived {
        for end in self
            .ids("select kind || ' ' || status || ' ' || coalesce(resolution, '') from operations order by id")
            .await
        {
            self.note(format!("end: {end}"));
        }
        Ok(())
    }
}
