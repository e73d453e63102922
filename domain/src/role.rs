//! Roles of users, and which of them can be combined.

use std::fmt;
use std::str::FromStr;

use crate::{Code, Error, Result};

crate::words! {
    /// A role of a user.
    Role {
        /// Invests.
        Investor = "investor",
        /// Acts for an issuer.
        Issuer = "issuer",
        /// Runs operations and compliance.
        Operator = "operator",
        /// Manages users, keys and policies.
        Admin = "admin",
        /// Reads everything and changes nothing.
        Auditor = "auditor",
    }
}

impl Role {
    /// Whether this role belongs to staff.
    pub const fn is_staff(self) -> bool {
        matches!(self, Self::Operator | Self::Admin | Self::Auditor)
    }
}

/// The roles of a user, sorted and without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(Vec<Role>);

impl Roles {
    /// Checks that one person may have these roles together.
    ///
    /// An auditor with another role would audit their own actions; staff who invest or issue would decide in their own interest.
    pub fn new(roles: &[Role]) -> Result<Self> {
        let mut roles = roles.to_vec();
        roles.sort_unstable();
        // Sorted and without duplicates, so that equal sets have equal texts in the column.
        roles.dedup();
        let staff = roles.iter().any(|role| role.is_staff());
        let clients = roles.iter().any(|role| !role.is_staff());
        let alone = roles.len() == 1 || !roles.contains(&Role::Auditor);
        if roles.is_empty() || !alone || (staff && clients) {
            let detail = "An auditor cannot have another role, and staff cannot be investors or issuers.";
            return Err(Error::refused(Code::ValidationFailed, detail));
        }
        Ok(Self(roles))
    }

    /// A single role.
    pub fn only(role: Role) -> Self {
        Self(vec![role])
    }

    /// All roles.
    pub fn list(&self) -> &[Role] {
        &self.0
    }

    /// Whether this role is included.
    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether one of these roles is included.
    pub fn any_of(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has(*role))
    }

    /// Whether the user is staff.
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

// Used by sqlx to read the column.
impl TryFrom<String> for Roles {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
