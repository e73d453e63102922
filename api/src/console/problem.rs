//! A refusal as a page: what happened, what it means, what to do. What was typed is kept.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::code::explanation::Explanation;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::html;
use crate::http::error::Problem;

#[derive(Template)]
#[template(path = "problem.html")]
struct Page {
    frame: Frame,
    code: &'static str,
    title: &'static str,
    happened: String,
    effect: &'static str,
    action: String,
    again: Option<Again>,
    back: String,
}

/// The form of the refused act, to be sent once more.
pub struct Again {
    action: String,
    /// What a person wrote, to be changed.
    texts: Vec<(String, String)>,
    /// What the page chose.
    hidden: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "step_up.html")]
struct StepUp {
    frame: Frame,
    action: String,
    hidden: Vec<(String, String)>,
    by_code: bool,
    refused: Option<String>,
    back: String,
}

/// The page of a problem.
pub async fn page(desk: &Desk, form: &Form, problem: &Problem) -> Response {
    let Ok(frame) = Frame::of(desk, "", problem.code.title()).await else {
        return outside(desk, problem);
    };
    let (happened, action) = words(problem);
    let page = Page {
        code: problem.code.as_str(),
        title: problem.code.title(),
        happened,
        effect: effect(problem),
        action,
        again: again(desk, form, problem),
        back: back(desk, form),
        frame,
    };
    html::page(status(problem), &page)
}

/// The page on which a person confirms their identity again. It sends the same form, with the proof.
pub async fn step_up(desk: &Desk, form: &Form, by_code: bool, refused: Option<String>) -> Response {
    let frame = match Frame::of(desk, "", "Confirm that it is you").await {
        Ok(frame) => frame,
        Err(problem) => return outside(desk, &problem),
    };
    let (action, back) = (desk.at.clone(), back(desk, form));
    html::page(StatusCode::FORBIDDEN, &StepUp { frame, action, hidden: form.kept(), by_code, refused, back })
}

/// The page without its frame, which could not be read either.
fn outside(desk: &Desk, problem: &Problem) -> Response {
    let (happened, action) = words(problem);
    let frame = Frame::outside(&desk.console.app, problem.code.title());
    let (code, title) = (problem.code.as_str(), problem.code.title());
    let back = "/console".to_owned();
    let page = Page { frame, code, title, happened, effect: effect(problem), action, again: None, back };
    html::page(status(problem), &page)
}

/// The status of a page that shows a form again, and why it was refused, if it was.
pub fn refusal(refused: Option<&Problem>) -> (StatusCode, Option<String>) {
    let why = |problem: &Problem| problem.detail().unwrap_or(problem.code.title()).to_owned();
    (refused.map_or(StatusCode::OK, status), refused.map(why))
}

/// The status of a problem.
pub fn status(problem: &Problem) -> StatusCode {
    StatusCode::from_u16(problem.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn words(problem: &Problem) -> (String, String) {
    let fields: Vec<_> = problem.fields().iter().map(|field| field.detail.clone()).collect();
    let told = if fields.is_empty() { problem.detail().map(str::to_owned) } else { Some(fields.join(" ")) };
    match problem.code.explanation() {
        Explanation::Short { happened, action, .. } => (told.unwrap_or_else(|| happened.to_owned()), action.to_owned()),
        Explanation::Page(_) => (
            told.unwrap_or_else(|| problem.code.title().to_owned()),
            "Follow the runbook of this code, step by step.".to_owned(),
        ),
    }
}

fn effect(problem: &Problem) -> &'static str {
    if problem.code.status() >= 500 {
        return "It is not known whether it was done. The page that you came from shows it; the same button is safe to press again.";
    }
    match problem.code.explanation() {
        Explanation::Short { effect, .. } => effect,
        Explanation::Page(_) => "Nothing was changed by this click.",
    }
}

/// The form of the refused act to send again, with what was typed; none without a form.
fn again(desk: &Desk, form: &Form, problem: &Problem) -> Option<Again> {
    let kept = form.kept();
    if kept.is_empty() || problem.code.status() == 404 {
        return None;
    }
    let (texts, hidden) = kept.into_iter().partition(|(name, _)| name == "reason" || name == "tx_hash");
    Some(Again { action: desk.at.clone(), texts, hidden })
}

fn back(desk: &Desk, form: &Form) -> String {
    let given = form.given("back").filter(|path| crate::console::sign_in::is_ours(path));
    given.map_or_else(|| parent(&desk.at), str::to_owned)
}

/// The page above an address.
fn parent(at: &str) -> String {
    let path = at.split('?').next().unwrap_or(at);
    path.rsplit_once('/').map_or("/console", |(above, _)| above).to_owned()
}
