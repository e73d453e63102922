//! The names of the users on a page.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::nav::STAFF;
use crate::console::table::{Cell, cell};
use crate::console::wording;
use crate::http::error::Result;

/// Names by user id.
#[derive(Default)]
pub struct Names(HashMap<String, String>);

#[derive(Deserialize)]
struct User {
    name: String,
}

impl Names {
    /// Reads the names of those ids that are users. Only staff may read users; everybody else sees ids.
    pub async fn of<'a>(desk: &Desk, ids: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let users: BTreeSet<&str> = ids.into_iter().filter(|id| id.starts_with("usr_")).collect();
        let mut names = HashMap::new();
        for id in users.into_iter().filter(|_| desk.is_one_of(STAFF)) {
            match desk.read::<User>(&format!("/v1/users/{id}")).await {
                Ok(user) => names.insert(id.to_owned(), user.name),
                Err(problem) if problem.code.status() == 404 => None,
                Err(problem) => return Err(problem),
            };
        }
        Ok(Self(names))
    }

    /// The name of a user, an API key or a part of the platform.
    pub fn name(&self, id: &str) -> String {
        match self.0.get(id) {
            Some(name) => name.clone(),
            None if id.contains('_') => wording::short_id(id),
            None => id.to_owned(),
        }
    }

    /// A cell with that name.
    pub fn cell(&self, id: &str) -> Cell {
        Cell { title: id.to_owned(), ..cell(self.name(id)) }
    }
}
