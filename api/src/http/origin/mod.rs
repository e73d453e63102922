//! The origin of a request: the network address, and the web page whose script sent it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{FromRef, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::code::Code;
use crate::config::Limits;
use crate::http::error::{Problem, Result};

const FORWARDED: &str = "x-forwarded-for";
/// How the page that sends a request is related to this server.
const SITE: &str = "sec-fetch-site";
const AGENT_CHARACTERS_MAX: usize = 200;
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const HEADERS: &str = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-csrf-token, x-request-id, traceparent";
const EXPOSED: &str =
    "etag, location, retry-after, ratelimit, ratelimit-policy, x-request-id, idempotent-replayed, www-authenticate";
const PREFLIGHT_SECONDS: &str = "600";

/// The address at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The network address of the caller.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The caller's address.
    pub ip: IpAddr,
    /// The user agent that the caller sends.
    pub user_agent: String,
}

impl Peer {
    /// The network that limits count.
    pub fn network(self) -> String {
        network(self.0)
    }
}

impl Origin {
    /// Reads it. A proxy's word about the address counts only if the proxy is one of ours.
    pub fn of(headers: &HeaderMap, peer: Option<&Peer>, trusted: &[IpAddr]) -> Self {
        let mut ip = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.to_canonical());
        let named =
            headers.get_all(FORWARDED).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
        let named: Vec<_> = named.map(|text| text.trim().parse::<IpAddr>()).collect();
        // Each proxy appends the address of its caller. From the end, the first untrusted address is the caller; earlier ones may be
        // forged.
        for hop in named.into_iter().rev() {
            let Ok(hop) = hop else { break };
            if !trusted.contains(&ip) {
                break;
            }
            ip = hop.to_canonical();
        }
        let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self { ip, user_agent: agent.chars().take(AGENT_CHARACTERS_MAX).collect() }
    }

    /// The network that limits count.
    pub fn network(&self) -> String {
        network(self.ip)
    }

    /// The site around the network: a /48 of IPv6, which one customer of a provider gets with its 65,536 networks. None for IPv4.
    pub fn site(&self) -> Option<String> {
        match self.ip {
            IpAddr::V4(_) => None,
            IpAddr::V6(ip) => {
                let [a, b, c, ..] = ip.segments();
                Some(format!("{a:x}:{b:x}:{c:x}::/48"))
            }
        }
    }
}

/// The proxy that seems to stand before this process although the configuration does not name it. Then all its callers count as one network,
/// and one of them makes the others wait. A stranger who sends the header from outside names no proxy.
pub fn undeclared_proxy(headers: &HeaderMap, peer: Option<&Peer>, trusted: &[IpAddr]) -> Option<IpAddr> {
    let peer = peer?.0.to_canonical();
    let is_near = match peer {
        IpAddr::V4(ip) => ip.is_private() || ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback(),
    };
    (headers.contains_key(FORWARDED) && is_near && !trusted.contains(&peer)).then_some(peer)
}

/// The network of an address. One household has a whole /64 of IPv6.
fn network(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Origin
where
    Arc<Limits>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Self::of(&parts.headers, parts.extensions.get(), &Arc::<Limits>::from_ref(state).trusted_proxies))
    }
}

/// Whether an address lies in a network like `10.0.0.0/8` or is that one address; none if the text is no network.
pub fn is_within(ip: IpAddr, network: &str) -> Option<bool> {
    let (address, bits) = match network.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
        None => (network, None),
    };
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => (u128::from(u32::from(ip)) << 96, 32),
        IpAddr::V6(ip) => (u128::from(ip), 128),
    };
    let address: IpAddr = address.parse().ok()?;
    let ((wanted, width), (given, _)) = (number(address), number(ip));
    let bits = bits.unwrap_or(width);
    if bits > width {
        return None;
    }
    let same_kind = address.is_ipv4() == ip.is_ipv4();
    Some(same_kind && (bits == 0 || (wanted ^ given) >> (128 - bits) == 0))
}

/// Refuses foreign origins on endpoints without a token: logins and registrations.
pub fn check_page(headers: &HeaderMap, allowed: &[String]) -> Result<()> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let own = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let same =
        own.is_some_and(|host| origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host)));
    if same || allowed.iter().any(|known| known == origin) {
        return Ok(());
    }
    Err(Problem::new(
        Code::Forbidden,
        format!("The origin {origin} is not allowed. Add it to limits.origins if the portal is yours."),
    ))
}

/// Whether a form comes from a page of another site. Browsers send one or both of the headers with a form; who sends neither is no browser.
pub fn is_foreign_form(headers: &HeaderMap) -> bool {
    match headers.get(SITE) {
        Some(site) => site != "same-origin" && site != "none",
        None => check_page(headers, &[]).is_err(),
    }
}

/// The layer that lets the pages of listed origins read answers (CORS).
// Not `tower_http::cors`: it answers every OPTIONS request itself, with 200, and names methods and headers to unlisted origins too.
// Here a preflight of a listed origin gets 204, and every other request is answered as if there were no CORS.
pub async fn cross(State(limits): State<Arc<Limits>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let known = origin.filter(|origin| limits.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()));
    let asks_first =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let Some(origin) = known else { return next.run(request).await };
    let has_body = !request.body().is_end_stream();
    let mut response = if asks_first { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    if asks_first && has_body {
        // It is not read, and must not become the next request.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let more: &[(HeaderName, &'static str)] = if asks_first {
        &[
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
        ]
    } else {
        &[(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED)]
    };
    for (name, value) in more {
        headers.insert(name.clone(), HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
