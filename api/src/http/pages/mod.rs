//! Query parameters: only the known ones, each within its range.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::Query;
use axum::http::Uri;
use chrono::{DateTime, Utc};
use muniment_domain::filter::CreatedBetween;
use muniment_domain::id::{Id, IdKind};
use muniment_domain::total::Total;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::instant;

/// How many items a page holds unless the caller says otherwise.
pub const LIMIT_DEFAULT: i64 = 20;
/// How many items a page holds at most.
pub const LIMIT_MAX: i64 = 100;
/// How many rows may lie before a numbered page: counting past more of them would cost too much.
const OFFSET_MAX: i64 = 100_000;

/// The parameters of every numbered list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Paging {
    /// The number of the page, from 1. A page can start after at most 100000 items.
    #[param(minimum = 1, maximum = 100001, default = 1)]
    page: Option<i64>,
    /// The number of items on a page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
}

/// The time range of a list. Both ends are inclusive.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Between {
    /// Only items created at or after this time.
    created_from: Option<DateTime<Utc>>,
    /// Only items created at or before this time.
    created_to: Option<DateTime<Utc>>,
}

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub struct List<T: ToSchema> {
    data: Vec<T>,
    pagination: Pagination,
}

/// A page of a list that a caller pages by number, or continues after an id.
#[derive(Serialize, ToSchema)]
pub struct Scroll<T: ToSchema> {
    pub data: Vec<T>,
    pagination: Place,
}

/// The position of a page in its list.
#[derive(Serialize, ToSchema)]
pub struct Pagination {
    page: i64,
    limit: i64,
    total: i64,
    total_pages: i64,
    /// False if counting stopped early; `total` is then a lower bound. Missing if everything was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total_is_exact: Option<bool>,
}

/// The position of a page in its list. A page after an id has no total.
#[derive(Serialize, ToSchema)]
pub struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    page: Option<i64>,
    limit: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total_pages: Option<i64>,
    /// Whether everything was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total_is_exact: Option<bool>,
    /// The id after which the next page starts. Null on the last page.
    next_after: Option<String>,
}

impl Place {
    /// The place of a page that begins after an id.
    pub fn after(page: Page, next_after: Option<String>) -> Self {
        Self { page: None, limit: page.limit, total: None, total_pages: None, total_is_exact: None, next_after }
    }

    /// The place of a numbered page; counting may have stopped at a bound.
    fn counted(page: Page, Total { count, exact }: Total, next_after: Option<String>) -> Self {
        Self {
            page: Some(page.number),
            total: Some(count),
            total_pages: Some(page.pages(count)),
            total_is_exact: Some(exact),
            ..Self::after(page, next_after)
        }
    }
}

/// The parameters of one request.
#[derive(Debug)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Reads the parameters. Unknown and repeated parameters are refused.
    pub fn read(uri: &Uri, known: &[&str]) -> Result<Self> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| Problem::new(Code::InvalidParameter, error.body_text()))?;
        let mut parameters = BTreeMap::new();
        for (name, value) in pairs {
            if !known.contains(&name.as_str()) {
                let allowed = match known {
                    [] => "The path takes no parameters.".to_owned(),
                    _ => format!("Allowed are: {}.", known.join(", ")),
                };
                let detail = format!("The parameter {name} is unknown. {allowed}");
                return Err(Problem::new(Code::UnknownParameter, detail));
            }
            if value.contains('\0') {
                return Err(invalid(&name, "a string cannot contain the character U+0000"));
            }
            if parameters.insert(name.clone(), value).is_some() {
                return Err(invalid(&name, "it occurs twice"));
            }
        }
        Ok(Self(parameters))
    }

    /// The text of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter with one of the values of a schema.
    pub fn word<T: FromStr + PartialSchema>(&self, name: &str) -> Result<Option<T>> {
        self.text(name).map(|text| text.parse().map_err(|_| invalid(name, &allowed(&T::schema())))).transpose()
    }

    /// A parameter with several values of a schema, separated by commas.
    pub fn words<T: FromStr + PartialSchema>(&self, name: &str) -> Result<Vec<T>> {
        let Some(text) = self.text(name) else { return Ok(Vec::new()) };
        text.split(',').map(|word| word.parse().map_err(|_| invalid(name, &allowed(&T::schema())))).collect()
    }

    /// A parameter that is an id of this kind.
    pub fn id<K: IdKind>(&self, name: &str) -> Result<Option<Id<K>>> {
        let Some(id) = self.text(name).map(Id::<K>::from) else { return Ok(None) };
        let sound = id.is_sound().then_some(id);
        sound.map(Some).ok_or_else(|| invalid(name, &format!("use an id such as {}_01k…", K::PREFIX)))
    }

    /// Whether `expand` asks for this object, the only one that it can ask for.
    pub fn expands(&self, object: &str) -> Result<bool> {
        match self.text("expand") {
            None => Ok(false),
            Some(text) if text == object => Ok(true),
            Some(_) => Err(invalid("expand", &format!("use {object}"))),
        }
    }

    /// A parameter that is a time.
    pub fn time(&self, name: &str) -> Result<Option<DateTime<Utc>>> {
        let form = "use a time such as 2026-11-20T21:41:07Z; write a plus sign as %2B";
        let read = |text: &str| instant::read(text).ok_or_else(|| invalid(name, form));
        self.text(name).map(read).transpose()
    }

    /// When the things were made that are asked for.
    pub fn created(&self) -> Result<CreatedBetween> {
        let created = CreatedBetween { from: self.time("created_from")?, to: self.time("created_to")? };
        match (created.from, created.to) {
            (Some(from), Some(to)) if from > to => {
                Err(Problem::new(Code::InvalidParameter, "created_from must not be later than created_to."))
            }
            _ => Ok(created),
        }
    }

    /// A parameter that is hexadecimal, such as an address or a hash.
    pub fn hex<T: FromStr>(&self, name: &str, digits: usize) -> Result<Option<T>> {
        let sound =
            |text: &str| text.strip_prefix("0x").filter(|rest| rest.len() == digits).and_then(|_| text.parse().ok());
        self.text(name)
            .map(|text| sound(text).ok_or_else(|| invalid(name, &format!("use 0x and {digits} hexadecimal digits"))))
            .transpose()
    }

    /// How many items are asked for.
    pub fn limit(&self) -> Result<i64> {
        self.integer("limit", LIMIT_DEFAULT, LIMIT_MAX)
    }

    /// A whole number from 1 on.
    pub fn integer(&self, name: &str, default: i64, max: i64) -> Result<i64> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && (1..=max).contains(number));
        number.ok_or_else(|| invalid(name, &format!("use an integer from 1 to {max}")))
    }
}

/// A numbered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its number, from 1.
    pub number: i64,
    /// How many items it holds.
    pub limit: i64,
}

impl Page {
    /// Reads the query of a numbered list: the page that is asked for, and the parameters with its filters.
    pub fn read(uri: &Uri, filters: &[&str]) -> Result<(Self, Parameters)> {
        let parameters = Parameters::read(uri, &[&["page", "limit"][..], filters].concat())?;
        let page = Self { number: parameters.integer("page", 1, i64::MAX / LIMIT_MAX)?, limit: parameters.limit()? };
        if page.offset() > OFFSET_MAX {
            return Err(invalid("page", &format!("the page can start after at most {OFFSET_MAX} items")));
        }
        Ok((page, parameters))
    }

    /// How many items lie before it.
    pub const fn offset(self) -> i64 {
        (self.number - 1) * self.limit
    }

    /// The answer of every numbered list: the items and the position of the page.
    pub fn list<T: ToSchema>(self, items: impl IntoIterator<Item = T>, total: impl Into<Total>) -> List<T> {
        List { data: items.into_iter().collect(), pagination: self.pagination(total.into()) }
    }

    fn pagination(self, Total { count, exact }: Total) -> Pagination {
        Pagination {
            page: self.number,
            limit: self.limit,
            total: count,
            total_pages: self.pages(count),
            total_is_exact: (!exact).then_some(false),
        }
    }

    /// How many pages there are.
    const fn pages(self, total: i64) -> i64 {
        (total + self.limit - 1) / self.limit
    }
}

/// A page of a list that a caller pages by number, or continues after an id. After an id nothing is counted, so a page costs what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Continued {
    page: Page,
    after_id: bool,
}

impl Continued {
    /// The page that is asked for. After an id, the number of the page is ignored.
    pub fn of(page: Page, after: Option<&str>) -> Self {
        let after_id = after.is_some();
        Self { page: if after_id { Page { number: 1, ..page } } else { page }, after_id }
    }

    /// How many rows to read: one more than the page holds shows whether there is a next page.
    pub const fn limit(self) -> i64 {
        self.page.limit + 1
    }

    /// How many items lie before it.
    pub const fn offset(self) -> i64 {
        self.page.offset()
    }

    /// Whether the list has to be counted for the answer.
    pub const fn counts(self) -> bool {
        !self.after_id
    }

    /// Drops the row that belongs to the next page, and returns the id to ask for that page with.
    pub fn cut<T>(self, rows: &mut Vec<T>, id: impl Fn(&T) -> &str) -> Option<String> {
        let more = usize::try_from(self.page.limit).is_ok_and(|limit| rows.len() > limit);
        if more {
            rows.pop();
        }
        rows.last().filter(|_| more).map(|row| id(row).to_owned())
    }

    /// The answer: the items and the position of the page.
    pub fn list<T: ToSchema>(self, data: Vec<T>, next_after: Option<String>, total: Option<Total>) -> Scroll<T> {
        Scroll { data, pagination: self.place(next_after, total) }
    }

    /// The position of the page.
    pub fn place(self, next_after: Option<String>, total: Option<Total>) -> Place {
        match total {
            Some(total) => Place::counted(self.page, total, next_after),
            None => Place::after(self.page, next_after),
        }
    }
}

/// The values that a schema allows, in words.
fn allowed(schema: &RefOr<Schema>) -> String {
    let schema = json!(schema);
    let words: Vec<_> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match schema["type"].as_str() {
        _ if !words.is_empty() => format!("use one of {}", words.join(", ")),
        Some("boolean") => "use true or false".to_owned(),
        Some("integer") => "use a whole number".to_owned(),
        _ => "the value is not allowed".to_owned(),
    }
}

fn invalid(name: &str, why: &str) -> Problem {
    Problem::new(Code::InvalidParameter, format!("The parameter {name} is invalid: {why}."))
}

#[cfg(test)]
mod tests;
