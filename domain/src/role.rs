//! Roles: what a person is to the platform, and which of them go together.

use std::fmt;
use std::str::FromStr;

use crate::{Code, Error, Result};

crate::words! {
    /// What a person is to the platform.
    Role {
        /// Subscribes.
        Investor = "investor",
        /// Offers.
        Issuer = "issuer",
        /// Runs operations and compliance.
        Operator = "operator",
        /// Manages users, keys and policies.
        Admin = "admin",
        /// Reads everything, changes nothing.
        Auditor = "auditor",
    }
}

impl Role {
    /// Whether it belongs to the platform's own people.
    pub const fn is_staff(self) -> bool {
        matches!(self, Self::Operator | Self::Admin | Self::Auditor)
    }
}

/// The roles of one person, in the order of the list, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(Vec<Role>);

impl Roles {
    /// These roles together, if one person may have them.
    ///
    /// An auditor who also acts would audit himself, and staff that invests or offers has an interest in what it decides.
    pub fn new(roles: &[Role]) -> Result<Self> {
        let mut roles = roles.to_vec();
        roles.sort_unstable();
        roles.dedup();
        let staff = roles.iter().any(|role| role.is_staff());
        let clients = roles.iter().any(|role| !role.is_staff());
        let alone = roles.len() == 1 || !roles.contains(&Role::Auditor);
        if roles.is_empty() || !alone || (staff && clients) {
            let detail = "An auditor has no other role, and staff is neither investor nor issuer.";
            return Err(Error::refused(Code::ValidationFailed, detail));
        }
        Ok(Self(roles))
    }

    /// One role.
    pub fn only(role: Role) -> Self {
        Self(vec![role])
    }

    /// All of them.
    pub fn list(&self) -> &[Role] {
        &self.0
    }

    /// Whether this one is among them.
    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether one of these is among them.
    pub fn any_of(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has(*role))
    }

    /// Whether the person belongs to the platform's own people.
    pub fn is_staff(&self) -> bool {
        self.0.iter().any(|role| role.is_staff())
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Roles {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let roles: Result<Vec<_>, _> = text.split(' ').map(str::parse::<Role>).collect();
        Self::new(&roles.map_err(|unknown| Error::refused(Code::ValidationFailed, unknown.to_string()))?)
    }
}

// How the column is read.
impl TryFrom<String> for Roles {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
