//! The limits that only whoever runs the platform changes: those of the configuration and of the program.

use muniment_activities::config::{ChainConfig, Finality};
use muniment_domain::idempotency::REPLAY_HOURS;
use muniment_domain::session::Lifetime;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Plain;
use crate::app::App;
use crate::pages::{LIMIT_DEFAULT, LIMIT_MAX};

/// By what they bound.
#[derive(Serialize, ToSchema)]
pub struct Fixed {
    requests: Requests,
    sessions: Sessions,
    engine: Engine,
    /// Requests a minute of each caller; 0 is no limit.
    #[schema(value_type = Object, example = json!({ "read_per_minute": 600, "write_per_minute": 120 }))]
    rates: Value,
    chains: Vec<OnChain>,
}

/// What one request may be.
#[derive(Serialize, ToSchema)]
pub struct Requests {
    page_limit_default: i64,
    page_limit_max: i64,
    body_bytes_max: usize,
    request_timeout_seconds: u64,
    idempotency_hours: i64,
}

/// How long somebody stays logged in.
#[derive(Serialize, ToSchema)]
pub struct Sessions {
    access_seconds: i64,
    csrf_seconds: i64,
    step_up_seconds: i64,
    idle_seconds: i64,
    absolute_seconds: i64,
    staff_idle_seconds: i64,
    staff_absolute_seconds: i64,
}

/// What the engine bears.
#[derive(Serialize, ToSchema)]
pub struct Engine {
    attempts_max: u32,
    backoff_base_seconds: u64,
    backoff_cap_seconds: u64,
    mint_page_holders: usize,
    payout_page_holders: usize,
    sweep_seconds: u64,
}

/// What holds on one chain.
#[derive(Serialize, ToSchema)]
pub struct OnChain {
    #[schema(example = "sepolia")]
    network: String,
    /// `tag`, or how many blocks.
    finality: Plain,
    quorum: usize,
    in_flight_max: u32,
    bump_after_seconds: u64,
    bump_percent: u64,
    bumps_max: u32,
    stuck_after_seconds: u64,
    /// The most that is paid out of each coin in one day, in its smallest units; null for no ceiling.
    #[schema(example = "250000000000")]
    payout_ceiling_daily: Option<String>,
}

impl Fixed {
    /// Those of this process.
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
            bumps_max: chain.bumps_max,
            stuck_after_seconds: chain.stuck_after_seconds,
            payout_ceiling_daily: chain.payout_ceiling_daily.map(|most| most.to_string()),
        }
    }
}
