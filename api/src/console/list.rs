//! Pages with one list: tabs, a search, a table, and the way to more.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::console::act::Offer;
use crate::console::desk::Desk;
use crate::console::frame::Frame;
use crate::console::html;
use crate::console::table::Table;
use crate::http::error::Result;

/// How many rows a page has.
pub const ROWS: i64 = 50;

/// What a page with a list shows.
#[derive(Default)]
pub struct List {
    /// The name of the page.
    pub title: &'static str,
    /// The sentence under it.
    pub sub: String,
    /// The tabs.
    pub tabs: Vec<Tab>,
    /// The search, if there is one.
    pub search: Option<Search>,
    /// A sentence about search words that were not understood.
    pub refused: Option<String>,
    /// The table.
    pub table: Table,
    /// Buttons that only lead somewhere: name and address.
    pub links: Vec<(&'static str, String)>,
    /// What can be done here.
    pub offers: Vec<Offer>,
    /// The addresses of the newer and the older rows.
    pub pages: (Option<String>, Option<String>),
    /// How many there are, in words.
    pub count: String,
}

/// A tab.
pub struct Tab {
    /// Its name.
    pub name: String,
    /// Its address.
    pub path: String,
    /// Whether it is the selected tab.
    pub is_here: bool,
}

/// A search in the list.
pub struct Search {
    /// The address of the page.
    pub path: &'static str,
    /// The name of the field.
    pub name: &'static str,
    /// The placeholder: what one can search for.
    pub hint: &'static str,
    /// The search words.
    pub value: String,
    /// Parameters that the search keeps.
    pub hidden: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "list.html")]
struct Page {
    frame: Frame,
    list: List,
}

/// A list of the API with numbered pages.
#[derive(Deserialize)]
pub struct Listed<T> {
    /// The rows.
    pub data: Vec<T>,
    /// The place in the list.
    pub pagination: Place,
}

/// The place of a page in its list.
#[derive(Default, Deserialize)]
pub struct Place {
    /// The total, if it was counted.
    pub total: Option<i64>,
    /// The id after which the next page begins.
    pub next_after: Option<String>,
}

/// The query of a page with a list.
pub struct Asked {
    path: String,
    parts: Vec<(String, String)>,
}

impl Asked {
    /// Reads the query of a page.
    pub fn read(path: &str, query: Option<&str>) -> Self {
        Self::at(path.to_owned(), query)
    }

    /// Reads the query of the page at this address.
    pub fn at(path: String, query: Option<&str>) -> Self {
        let parts = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let parts = parts.map(|(name, value)| (name.into_owned(), value.trim().to_owned()));
        Self { path, parts: parts.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// A part of the query; empty if it is absent.
    pub fn text(&self, wanted: &str) -> &str {
        self.parts.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
    }

    /// The number of the page.
    pub fn page(&self) -> i64 {
        self.text("page").parse().ok().filter(|page| (1..=1_000_000).contains(page)).unwrap_or(1)
    }

    /// The same address with another value, on its first page.
    pub fn with(&self, name: &str, value: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let kept = self.parts.iter().filter(|(known, _)| known != name && known != "page" && known != "after");
        for (known, kept) in kept {
            query.append_pair(known, kept);
        }
        if !value.is_empty() {
            query.append_pair(name, value);
        }
        let query = query.finish();
        if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) }
    }

    /// Tabs over the values of a parameter: value and name.
    pub fn tabs(&self, name: &str, values: &[(&str, &str)]) -> Vec<Tab> {
        let here = self.text(name);
        let tab = |(value, shown): &(&str, &str)| Tab {
            name: (*shown).to_owned(),
            path: self.with(name, value),
            is_here: here == *value,
        };
        values.iter().map(tab).collect()
    }

    /// The same tabs for a part of a page, which stays in view.
    pub fn tabs_of(&self, name: &str, values: &[(&str, &str)], part: &str) -> Vec<Tab> {
        let tabs = self.tabs(name, values).into_iter();
        tabs.map(|tab| Tab { path: format!("{}#{part}", tab.path), ..tab }).collect()
    }

    /// The value of a parameter if it is one of these; else the first.
    pub fn one_of<'a>(&self, name: &str, values: &'a [(&'a str, &'a str)]) -> &'a str {
        let known = values.iter().find(|(value, _)| *value == self.text(name));
        known.or(values.first()).map_or("", |(value, _)| value)
    }

    /// The address of the API for a numbered page of these parameters.
    pub fn api(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &ROWS.to_string()).append_pair("page", &self.page().to_string());
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        format!("{path}?{}", query.finish())
    }

    /// The addresses of the numbered pages around this one.
    pub fn around(&self, rows: usize) -> (Option<String>, Option<String>) {
        self.around_if(i64::try_from(rows).is_ok_and(|rows| rows == ROWS))
    }

    /// The same, with a next page if this one is full.
    pub fn around_if(&self, is_full: bool) -> (Option<String>, Option<String>) {
        let page = self.page();
        let newer = (page > 1).then(|| self.with("page", &(page - 1).to_string()));
        (newer, is_full.then(|| self.with("page", &(page + 1).to_string())))
    }
}

/// The page.
pub async fn page(desk: &Desk, path: &str, list: List) -> Result<Response> {
    let frame = Frame::of(desk, path, list.title).await?;
    Ok(html::page(StatusCode::OK, &Page { frame, list }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_begins_again_at_the_first_page() {
        let asked = Asked::read("/console/investors", Some("status=pending&q=a+b&page=3"));
        assert_eq!(asked.page(), 3);
        assert_eq!(asked.with("status", "approved"), "/console/investors?q=a+b&status=approved");
        assert_eq!(asked.with("q", ""), "/console/investors?status=pending");
        assert_eq!(asked.around(50).1.as_deref(), Some("/console/investors?status=pending&q=a+b&page=4"));
        assert_eq!(asked.around(7).1, None, "a page that is not full is the last");
        assert_eq!(Asked::read("/console", Some("page=-2")).page(), 1);
    }
}
