//! The calls of a signer that the database does not know: each with what it is, and those that a person acknowledges by a mark.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::{PATH, Thing, find};
use crate::code::Code;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::nav::OPERATORS;
use crate::console::problem::refusal;
use crate::console::{html, wording};
use crate::http::error::{Problem, Result};

#[derive(Template)]
#[template(path = "import.html")]
struct Page {
    frame: Frame,
    lane: Thing,
    calls: Calls,
    /// The names that a person has marked.
    marked: Vec<String>,
    reason: String,
    refused: Option<String>,
    acts: bool,
    key: String,
}

#[derive(Deserialize)]
struct Calls {
    first_block: Option<i64>,
    last_block: Option<i64>,
    is_settled: bool,
    data: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    block_number: i64,
    function: String,
    detail: String,
    needs_acknowledgement: bool,
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    name: String,
    holder: String,
    units: String,
    detail: String,
    needs_acknowledgement: bool,
}

/// The page. Nothing is changed.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    shown(&desk, &id, &Form::default(), None).await
}

/// The import, once for the key of the form.
pub async fn act(desk: Desk, Path(id): Path<String>, form: Form) -> Result<Response> {
    let path = format!("/blockchain/signers/{id}/import-calls");
    let body = json!({ "reason": form.text("reason"), "acknowledge": form.all("acknowledge") });
    let reply = match desk.post(&path, &form, &body).await {
        Ok(reply) => reply,
        Err(problem) if problem.code == Code::StepUpRequired => return Err(problem),
        Err(problem) => return shown(&desk, &id, &form, Some(&problem)).await,
    };
    let left: Calls = serde_json::from_value(reply.body).map_err(Problem::internal)?;
    let at = format!("{PATH}/{id}/import");
    Ok(match left.is_settled {
        true => desk.done(&format!("{PATH}#{id}"), "Every call of this signer is known now. It can be resumed."),
        false => desk.done(&at, "What matched was imported. The calls below are left."),
    })
}

async fn shown(desk: &Desk, id: &str, form: &Form, refused: Option<&Problem>) -> Result<Response> {
    let lane = find(desk, id).await?;
    let calls: Calls = desk.read(&format!("/blockchain/signers/{id}/unknown-calls")).await?;
    let (status, refused) = refusal(refused);
    let frame = Frame::of(desk, PATH, "Import calls").await?;
    let marked = form.all("acknowledge").into_iter().map(str::to_owned).collect();
    let (reason, acts, key) = (form.text("reason").to_owned(), desk.is_one_of(OPERATORS), desk.key());
    Ok(html::page(status, &Page { frame, lane, calls, marked, reason, refused, acts, key }))
}

impl Page {
    fn summary(&self) -> String {
        let Some((first, last)) = self.calls.first_block.zip(self.calls.last_block) else {
            return "The database knows every transaction of the key up to the final block.".to_owned();
        };
        let calls = wording::count(i64::try_from(self.calls.data.len()).unwrap_or_default(), "call", "calls");
        format!("{calls} in the blocks {} to {}.", wording::number(first), wording::number(last))
    }

    fn is_marked(&self, name: &str) -> bool {
        self.marked.iter().any(|marked| marked == name)
    }
}
