//! The baseline of `portal`: a handler without authentication that runs one statement and returns the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use sqlx::PgPool;
use tokio::net::TcpListener;

const OFFERINGS: &str = "select cast(json_agg(page) as text) from (select * from offerings where visibility = 'public' \
     and status in ('open', 'closed', 'settled') and $1 = $1 order by id desc limit 20) as page";
const OFFERING: &str = "select cast(row_to_json(o) as text) from offerings o where id = $1";
const SUBSCRIPTIONS: &str = "select cast(coalesce(json_agg(page), '[]') as text) from (select * from subscriptions \
     where offering_id = $1 order by id desc limit 20) as page";
const NEWEST: &str = "select cast(json_agg(page) as text) from (select * from subscriptions where $1 = $1 order by id desc limit 20) as page";
/// Reserves and inserts in one statement and one commit.
const SUBSCRIBE: &str = "with reserved as (update offerings set committed_total = committed_total + 150000 where id = $1 returning id) \
     insert into subscriptions (id, offering_id, investor_id, status, amount, cooling_off_expires_at, version, created_at, updated_at) \
     select $2, r.id, i.id, 'committed', 150000, o.created_at, 1, o.created_at, o.created_at from reserved r \
     join offerings o on o.id = r.id, (select id from investors limit 1) as i returning id";

#[derive(Clone)]
struct Database {
    pool: PgPool,
    count: Arc<AtomicU64>,
}

/// Listens until this program ends. Returns the port.
pub async fn serve(pool: &PgPool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a free port");
    let port = listener.local_addr().expect("a bound listener has an address").port();
    let router = Router::new().fallback(answer).with_state(Database { pool: pool.clone(), count: Arc::default() });
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

async fn answer(
    State(database): State<Database>,
    method: Method,
    uri: Uri,
) -> Result<(StatusCode, String), StatusCode> {
    let parts: Vec<_> = uri.path().split('/').skip(2).collect();
    let offering = parts.get(1).filter(|_| parts[0] == "offerings").copied();
    let named = uri.query().and_then(|query| query.strip_prefix("offering_id="));
    let (status, sql, id) = match (method, parts.as_slice()) {
        (Method::POST, _) => (StatusCode::CREATED, SUBSCRIBE, offering),
        (_, ["offerings"]) => (StatusCode::OK, OFFERINGS, None),
        (_, ["offerings", _]) => (StatusCode::OK, OFFERING, offering),
        _ if offering.or(named).is_some() => (StatusCode::OK, SUBSCRIPTIONS, offering.or(named)),
        _ => (StatusCode::OK, NEWEST, None),
    };
    let mut query = sqlx::query_scalar::<_, String>(sql).bind(id.unwrap_or_default());
    if sql == SUBSCRIBE {
        query = query.bind(format!("sub_02{:024}", database.count.fetch_add(1, Ordering::Relaxed)));
    }
    let found = query.fetch_one(&database.pool).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok((status, found))
}
