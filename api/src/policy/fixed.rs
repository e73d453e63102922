//! The limits of the configuration and of the program, which the API cannot change.

use muniment_activities::config::{ChainConfig, Finality};
use muniment_domain::idempotency::REPLAY_HOURS;
use muniment_domain::session::Lifetime;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Plain;
use crate::app::App;
use crate::http::pages::{LIMIT_DEFAULT, LIMIT_MAX};

/// The limits of the configuration and of the program.
#[derive(Serialize, ToSchema)]
pub struct Fixed {
    /// The limits of requests.
    requests: Requests,
    /// The durations of sessions.
    sessions: Sessions,
    /// The limits of the engine.
    engine: Engine,
    /// Requests per minute of each caller. 0 means no limit.
    #[schema(value_type = Object, example = json!({ "read_per_minute": 600, "write_per_minute": 120 }))]
    rates: Value,
    chains: Vec<OnChain>,
}

/// The limits of a request.
#[derive(Serialize, ToSchema)]
pub struct Requests {
    /// The default number of items on a page.
    page_limit_default: i64,
    /// The maximum number of items on a page.
    page_limit_max: i64,
    /// The maximum size of a body in bytes.
    body_bytes_max: usize,
    /// The maximum duration of a request in seconds.
    request_timeout_seconds: u64,
    /// The hours for which answers to an Idempotency-Key are kept.
    idempotency_hours: i64,
}

/// The durations of sessions.
#[derive(Serialize, ToSchema)]
pub struct Sessions {
    /// The lifetime of an access token in seconds.
    access_seconds: i64,
    /// The lifetime of a CSRF token in seconds.
    csrf_seconds: i64,
    /// The seconds for which a step-up counts.
    step_up_seconds: i64,
    /// The seconds without use after which a session ends.
    idle_seconds: i64,
    /// The maximum duration of a session in seconds.
    absolute_seconds: i64,
    /// The seconds without use after which a staff session ends.
    staff_idle_seconds: i64,
    /// The maximum duration of a staff session in seconds.
    staff_absolute_seconds: i64,
}

/// The limits of the engine.
#[derive(Serialize, ToSchema)]
pub struct Engine {
    /// The maximum number of attempts.
    attempts_max: u32,
    /// The first delay before another attempt, in seconds.
    backoff_base_seconds: u64,
    /// The longest delay before another attempt, in seconds.
    backoff_cap_seconds: u64,
    /// The maximum number of holders on a page of a mint.
    mint_page_holders: usize,
    /// The maximum number of payees on a page of a payout.
    payout_page_holders: usize,
    /// The seconds between two sweeps for overdue rows.
    sweep_seconds: u64,
}

/// The limits of a chain.
#[derive(Serialize, ToSchema)]
pub struct OnChain {
    #[schema(example = "sepolia")]
    network: String,
    /// `tag`, or a number of blocks.
    finality: Plain,
    /// The number of endpoints that must agree.
    quorum: usize,
    in_flight_max: u32,
    /// The seconds after which the fee is raised.
    bump_after_seconds: u64,
    bump_percent: u64,
    /// The seconds after which a transaction counts as stuck.
    stuck_after_seconds: u64,
    /// The maximum payout of each token in one day, in base units. Null means no limit.
    #[schema(example = "250000000000")]
    payout_ceiling_daily: Option<String>,
}

impl Fixed {
    /// The limits of this process.
    pub fn of(app: &App) -> Self {
        let (settings, auth) = (&app.settings, &app.auth.config);
        let (others, staff) = (Lifetime::of(false), Lifetime::of(true));
        Self {
            requests: Requests {
                page_limit_default: LIMIT_DEFAULT,
                page_limit_max: LIMIT_MAX,
                body_bytes_max: app.limits.body_bytes_max,
                request_timeout_seconds: app.limits.request_timeout_seconds,
                idempotency_hours: REPLAY_HOURS,
            },
            sessions: Sessions {
                access_seconds: auth.access_seconds,
                csrf_seconds: auth.csrf_seconds,
                step_up_seconds: auth.step_up_seconds,
                idle_seconds: others.idle.num_seconds(),
                absolute_seconds: others.absolute.num_seconds(),
                staff_idle_seconds: staff.idle.num_seconds(),
                staff_absolute_seconds: staff.absolute.num_seconds(),
            },
            engine: Engine {
                attempts_max: settings.attempts_max,
                backoff_base_seconds: settings.backoff_base_seconds,
                backoff_cap_seconds: settings.backoff_cap_seconds,
                mint_page_holders: settings.mint_page_holders,
                payout_page_holders: settings.payout_page_holders,
                sweep_seconds: settings.sweep_seconds,
            },
            rates: json!(*app.rates),
            chains: app.chains().iter().map(OnChain::of).collect(),
        }
    }
}

impl OnChain {
    fn of(chain: &ChainConfig) -> Self {
        Self {
            network: chain.key.clone(),
            finality: match chain.finality {
                Finality::Tag => Plain::Text("tag".to_owned()),
                Finality::Confirmations(blocks) => Plain::Number(blocks.cast_signed()),
            },
            quorum: chain.quorum,
            in_flight_max: chain.in_flight_max,
            bump_after_seconds: chain.bump_after_seconds,
            bump_percent: chain.bump_percent,
            stuck_after_seconds: chain.stuck_after_seconds,
            payout_ceiling_daily: chain.payout_ceiling_daily.map(|most| most.to_string()),
        }
    }
}
