//! `/errors`: what each error code means and what to do. The `type` of a problem points here.

use std::fmt::Write as _;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::access::permission::Access;
use crate::access::route::{Route, route};
use crate::code::Code;
use crate::code::explanation::Explanation;
use crate::code::reason::{Place, REASONS, Reason, SHARED};
use crate::http::error::{Problem, Result};

mod html;

/// The endpoints of the error pages.
pub fn routes() -> Vec<Route> {
    vec![route!(index, Access::Public), route!(page, Access::Public)]
}

/// A page is text and one style sheet. It runs no script and loads nothing from another host.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// One code with its explanation.
struct Entry {
    code: &'static str,
    title: &'static str,
    // Where it is seen.
    status: Option<u16>,
    place: Option<Place>,
    explanation: Explanation,
}

/// Every code: first the codes of problems, then all others.
fn entries() -> impl Iterator<Item = Entry> {
    let of_problem = |code: &Code| Entry {
        code: code.as_str(),
        title: code.title(),
        status: Some(code.status()),
        place: SHARED.iter().find(|(shared, _)| *shared == code.as_str()).map(|(_, place)| *place),
        explanation: code.explanation(),
    };
    let of_operation = |reason: &'static Reason| Entry {
        code: reason.code,
        title: reason.title,
        status: None,
        place: Some(reason.place),
        explanation: reason.explanation,
    };
    Code::ALL.iter().map(of_problem).chain(REASONS.iter().map(of_operation))
}

impl Entry {
    fn seen_in(&self) -> String {
        let status = self.status.map(|status| format!("HTTP status {status}"));
        let place = self.place.map(|place| match place {
            Place::BlockedReason => "`blocked_reason` of an operation".to_owned(),
            Place::ErrorCode => "`error.code` of an operation".to_owned(),
            Place::Snapshot => "`problem.code` of a distribution".to_owned(),
        });
        [status, place].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The page as Markdown, in the form of the pages of `ops/runbooks`.
    fn markdown(&self) -> String {
        let heading = format!("# `{}`: {}\n", self.code, self.title);
        let body = match self.explanation {
            Explanation::Page(page) => page.split_once('\n').map_or(page, |(_, body)| body).to_owned(),
            Explanation::Short { happened, action, effect } => format!(
                "\n## What happened\n\n{happened}\n\n## Is money affected?\n\n{effect}\n\n## What to do\n\n1. {action}\n"
            ),
        };
        format!("{heading}\nSeen in: {}.\n{body}", self.seen_in())
    }
}

/// Show the list of error codes.
///
/// An HTML page. Each code links to its explanation.
#[utoipa::path(get, path = "/errors",
    responses((status = 200, body = String, content_type = "text/html")))]
pub async fn index() -> Response {
    let mut markdown = "# Error codes\n\nThe codes of problems, operations and distributions.\n\n".to_owned();
    for Entry { code, title, .. } in entries() {
        let _ = writeln!(markdown, "- [`{code}`](/errors/{code}): {title}");
    }
    answer("Error codes", &markdown)
}

/// Explain an error code.
///
/// An HTML page: what happened, whether money is affected, and what to do.
#[utoipa::path(get, path = "/errors/{code}",
    responses((status = 200, body = String, content_type = "text/html")))]
pub async fn page(Path(code): Path<String>) -> Result<Response> {
    let unknown = || Problem::new(Code::NotFound, "This error code is unknown. GET /errors lists every code.");
    let entry = entries().find(|entry| entry.code == code).ok_or_else(unknown)?;
    Ok(answer(entry.code, &format!("{}\n[All error codes](/errors)\n", entry.markdown())))
}

fn answer(title: &str, markdown: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, html::page(title, markdown)).into_response()
}

#[cfg(test)]
mod tests;
