//! `/v1/reports/…`: reports over all users and whole years for auditors and tax offices, as CSV or JSON. The lines are read and sent page
//! by page, so that a report of any length needs the memory of one page and holds no database connection while it is sent.

pub mod cap_table;
pub mod distribution;
mod routes;
pub mod tax;
pub mod transaction;

pub use routes::routes;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering;
use muniment_domain::report::Filter;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use crate::app::App;
use crate::code::Code;
use crate::http::csv;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// How many lines, or things that may have some, are read at once.
const PAGE: i64 = 500;
const YEAR_MAX: i64 = 9_000;

/// The parameters of a report over a period.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct OfTime {
    offering_id: Option<OfferingId>,
    /// The year. All years, by default.
    #[param(minimum = 1, maximum = 9000, example = 2026)]
    year: Option<i32>,
    #[param(pattern = "^(json|csv)$", example = "json")]
    format: Option<String>,
}

/// A report that is read page by page.
pub trait Report: Send + Sized + 'static {
    /// What it is called.
    const NAME: &'static str;
    /// The fields of its lines, in the order of the table.
    const COLUMNS: &'static [&'static str];
    /// A public key.
    type Line: Serialize + Send;

    /// The fields before the lines, as JSON.
    fn head(&self) -> Value;

    /// The next lines; none when all are read.
    fn next(&mut self, tx: &mut Tx) -> impl Future<Output = muniment_domain::Result<Option<Vec<Self::Line>>>> + Send;

    /// The sums of all lines that were read, in the fields that have one.
    fn totals(&self) -> Vec<Value>;
}

/// As what a report is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Json,
}

/// The subject and the format of a report. A named offering exists.
async fn asked(tx: &mut Tx, parameters: &Parameters) -> Result<(Filter, Format)> {
    let format = match parameters.text("format").unwrap_or("json") {
        "csv" => Format::Csv,
        "json" => Format::Json,
        other => {
            return Err(Problem::new(
                Code::InvalidParameter,
                format!("The format {other} is not supported. Use csv or json."),
            ));
        }
    };
    let year = match parameters.text("year") {
        Some(_) => i32::try_from(parameters.integer("year", 1, YEAR_MAX)?).ok(),
        None => None,
    };
    let offering_id = parameters.id("offering_id")?;
    if let Some(id) = &offering_id {
        offering::find(tx, id).await?;
    }
    Ok((Filter::new(offering_id, year), format))
}

/// The head of a report on a time.
fn head(name: &str, filter: &Filter) -> Value {
    json!({ "report": name, "offering_id": filter.offering_id, "from": Instant(filter.from), "to": Instant(filter.to) })
}

/// How far a report has been sent.
enum Sent<R> {
    Nothing(R),
    Lines(R, usize),
    Everything,
}

/// The answer, of which each part is read when the one before has been taken.
fn answer<R: Report>(app: App, report: R, format: Format) -> Response {
    let parts = stream::try_unfold(Sent::Nothing(report), move |sent| {
        let app = app.clone();
        async move { part(&app, sent, format).await }
    });
    let body = Body::from_stream(parts);
    match format {
        Format::Csv => (csv::headers(R::NAME), body).into_response(),
        Format::Json => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
    }
}

async fn part<R: Report>(
    app: &App,
    sent: Sent<R>,
    format: Format,
) -> muniment_domain::Result<Option<(String, Sent<R>)>> {
    let (mut report, before) = match sent {
        Sent::Nothing(report) => return Ok(Some((begin::<R>(&report.head(), format), Sent::Lines(report, 0)))),
        Sent::Lines(report, before) => (report, before),
        Sent::Everything => return Ok(None),
    };
    let lines = report.next(&mut app.db.read().await?).await.inspect_err(|error| {
        // The status was already sent; a reader sees that the end is missing.
        tracing::error!(report.name = R::NAME, "a report stopped: {error}");
    })?;
    Ok(Some(match lines {
        Some(lines) => {
            let count = before + lines.len();
            (several(R::COLUMNS, &lines, before, format), Sent::Lines(report, count))
        }
        None => (end::<R>(&report.totals(), format), Sent::Everything),
    }))
}

fn begin<R: Report>(head: &Value, format: Format) -> String {
    if format == Format::Csv {
        return csv::line(R::COLUMNS);
    }
    let head = head.to_string();
    format!("{},\"lines\":[", head.trim_end_matches('}'))
}

fn several<T: Serialize>(columns: &[&str], lines: &[T], before: usize, format: Format) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let line = json!(line);
        if format == Format::Csv {
            text += &csv::line(columns.iter().map(|column| cell(&line[column])));
        } else {
            text += if before + number == 0 { "" } else { "," };
            text += &line.to_string();
        }
    }
    text
}

fn end<R: Report>(totals: &[Value], format: Format) -> String {
    if format == Format::Json {
        return format!("],\"totals\":{}}}", json!(totals));
    }
    let line = |total: &Value| {
        let cells = R::COLUMNS.iter().enumerate().map(|(place, column)| match place {
            0 => "total".to_owned(),
            _ => cell(&total[column]),
        });
        csv::line(cells)
    };
    totals.iter().map(line).collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
