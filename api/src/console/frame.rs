//! The frame of every page: the environment, the navigation, the signed-in person.

use futures::future::try_join_all;
use muniment_domain::user::Role;
use serde::Deserialize;

use crate::app::App;
use crate::console::asset::{ADDRESSES, Addresses};
use crate::console::cookie::Said;
use crate::console::desk::Desk;
use crate::console::nav::{ENTRIES, EVERYBODY, Entry, REVIEWS};
use crate::console::{silenced, wording};
use crate::http::error::Result;

/// The frame of a page.
pub struct Frame {
    /// The name of the page.
    pub title: String,
    /// The addresses of the stylesheet and the script.
    pub files: &'static Addresses,
    /// PRODUCTION or DEVELOPMENT.
    pub environment: &'static str,
    /// The CSS class of the environment.
    pub class: &'static str,
    /// The chains, and whether their coins are worth something.
    pub chains: String,
    /// The time, to the second.
    pub clock: String,
    /// The newest block that the engine saw, of the first chain.
    pub block: Option<String>,
    /// The groups of pages that this person sees.
    pub groups: Vec<Vec<Link>>,
    /// Their name and role.
    pub who: (String, String),
    /// The token of its forms.
    pub csrf: String,
    /// The message about the act that led to this page.
    pub said: Option<Said>,
}

/// An entry of the navigation.
pub struct Link {
    /// The entry.
    pub entry: Entry,
    /// Whether the person is on this page.
    pub is_here: bool,
    /// The number of things there that need a person.
    pub count: i64,
}

/// What staff reads of the chains, or everybody of the process.
#[derive(Deserialize)]
struct Seen {
    #[serde(alias = "data")]
    chains: Vec<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    head_block: i64,
}

#[derive(Deserialize)]
struct Me {
    name: String,
}

#[derive(Deserialize)]
struct Stats {
    needs_attention: i64,
}

#[derive(Deserialize)]
struct Lanes {
    data: Vec<Lane>,
}

#[derive(Deserialize)]
struct Lane {
    lane_state: String,
    low_balance: Option<bool>,
}

#[derive(Deserialize)]
struct Counted {
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    total: i64,
}

impl Frame {
    /// The frame of a page for people who have not signed in.
    pub fn outside(app: &App, title: &str) -> Self {
        let (environment, class) =
            if app.production { ("PRODUCTION", "production") } else { ("DEVELOPMENT", "development") };
        let named = app.chains().iter().map(|chain| format!("{} {}", chain.name, chain.chain_id));
        let worth = if app.production { "Real money." } else { "Play money." };
        Self {
            title: title.to_owned(),
            files: &ADDRESSES,
            environment,
            class,
            chains: format!("{}. {worth}", wording::list(&named.collect::<Vec<_>>())),
            clock: wording::clock(app.db.clock().now()),
            block: None,
            groups: Vec::new(),
            who: Default::default(),
            csrf: String::new(),
            said: None,
        }
    }

    /// The frame of a page at this address of the navigation.
    pub async fn of(desk: &Desk, path: &str, title: &str) -> Result<Self> {
        let is_closed = desk.person.must_enrol(&desk.console.app);
        let entries = ENTRIES.iter().filter(|entry| !is_closed && desk.is_one_of(entry.roles));
        let links = try_join_all(entries.map(|entry| link(desk, entry, path)));
        let (block, me, links) = tokio::join!(block(desk, is_closed), desk.read::<Me>("/v1/auth/me"), links);
        let (me, mut groups) = (me?, Vec::<Vec<Link>>::new());
        for link in links? {
            match groups.last_mut().filter(|group| group[0].entry.group == link.entry.group) {
                Some(group) => group.push(link),
                None => groups.push(vec![link]),
            }
        }
        let role = desk.person.0.roles.list().iter().find(|role| EVERYBODY.contains(role)).copied();
        let who = (me.name, role_name(role).to_owned());
        let (csrf, said) = (desk.csrf()?, desk.said.clone());
        Ok(Self { block, groups, who, csrf, said, ..Self::outside(&desk.console.app, title) })
    }

    /// The number of things on a page of the navigation that need a person.
    pub fn waiting(&self, path: &str) -> i64 {
        self.links().find(|link| link.entry.path == path).map_or(0, |link| link.count)
    }

    /// All entries in one list.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.groups.iter().flatten()
    }
}

async fn link(desk: &Desk, entry: &Entry, here: &str) -> Result<Link> {
    Ok(Link { entry: *entry, is_here: entry.path == here, count: count(desk, entry.path).await? })
}

/// The newest block of the first chain. A page without it is better than none.
async fn block(desk: &Desk, is_closed: bool) -> Option<String> {
    let path = if desk.person.is_staff() && !is_closed { "/blockchain/chains" } else { "/readyz" };
    let seen: Seen = desk.read(path).await.ok()?;
    seen.chains.first().map(|chain| wording::number(chain.head_block))
}

/// The number of things on a page that need a person. No count reads a whole table.
async fn count(desk: &Desk, path: &str) -> Result<i64> {
    match path {
        "/console/operations" => {
            let stats: Stats = desk.read("/blockchain/operations/stats").await?;
            Ok(stats.needs_attention)
        }
        "/console/approvals" => {
            let waiting: Counted = desk.read("/v1/approvals?status=pending&limit=1").await?;
            Ok(waiting.pagination.total)
        }
        "/console/signers" => {
            let lanes: Lanes = desk.read("/blockchain/signers").await?;
            Ok(lanes
                .data
                .iter()
                .map(|lane| i64::from(lane.lane_state != "active" || lane.low_balance == Some(true)))
                .sum())
        }
        "/console/investors" => {
            let waiting: Counted = desk.read(&format!("/v1/investors?status={REVIEWS}&limit=1")).await?;
            Ok(waiting.pagination.total)
        }
        "/console/webhooks" => {
            let silenced = silenced::endpoints(desk).await?;
            Ok(i64::try_from(silenced.len()).unwrap_or(i64::MAX))
        }
        _ => Ok(0),
    }
}

fn role_name(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Admin) => "Admin",
        Some(Role::Operator) => "Operator",
        Some(Role::Auditor) => "Auditor, reads only",
        Some(Role::Issuer) => "Issuer",
        _ => "Guest",
    }
}
