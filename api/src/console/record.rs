//! Pages about one thing: what it is, what it has, and what can be done with it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::console::act::Offer;
use crate::console::desk::Desk;
use crate::console::frame::Frame;
use crate::console::html;
use crate::console::list::Tab;
use crate::console::table::{Cell, Table};
use crate::http::error::Result;

/// What a page about one thing shows.
#[derive(Default)]
pub struct Record {
    /// The page above: name and address.
    pub above: (&'static str, String),
    /// The name, in bold.
    pub name: String,
    /// The rest of the sentence.
    pub rest: String,
    /// The state, with its colour.
    pub state: Option<Cell>,
    /// The line under the sentence.
    pub sub: String,
    /// The stages of its life: name, and `ok`, `now` or `next`.
    pub steps: Vec<(String, &'static str)>,
    /// A sentence that a person must read.
    pub note: Option<String>,
    /// Buttons that only lead somewhere: name and address.
    pub links: Vec<(&'static str, String)>,
    /// Buttons that show more, by a form: name and address.
    pub forms: Vec<(&'static str, String)>,
    /// Short facts in cards.
    pub facts: Vec<Facts>,
    /// What can be done.
    pub offers: Vec<Offer>,
    /// Tables.
    pub sections: Vec<Section>,
    /// Whether they stand above the facts and what can be done.
    pub tables_first: bool,
    /// Whether the page does not reload by itself, because each read of a person's data is in the audit log.
    pub is_quiet: bool,
    /// The answer of the API, to be shown on request.
    pub raw: Option<String>,
}

/// A card of facts.
pub struct Facts {
    /// Its title.
    pub title: &'static str,
    /// The source of the facts.
    pub right: String,
    /// Name and value.
    pub rows: Vec<(String, Cell)>,
}

/// A table with a title.
#[derive(Default)]
pub struct Section {
    /// Its id on the page.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What follows the title.
    pub small: String,
    /// Tabs over its rows.
    pub tabs: Vec<Tab>,
    /// The table.
    pub table: Table,
    /// The addresses of the rows before and after.
    pub pages: (Option<String>, Option<String>),
}

#[derive(Template)]
#[template(path = "record.html")]
struct Page {
    frame: Frame,
    record: Record,
}

/// A fact.
pub fn fact(name: &str, cell: Cell) -> (String, Cell) {
    (name.to_owned(), cell)
}

/// The page.
pub async fn page(desk: &Desk, path: &str, record: Record) -> Result<Response> {
    let frame = Frame::of(desk, path, &record.name).await?;
    Ok(html::page(StatusCode::OK, &Page { frame, record }))
}
