//! An id knows the kind of what it names, so that no function takes the id of an offering for that of an operation.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sqlx::error::BoxDynError;
use sqlx::{Database, Decode};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

use super::{ALPHABET, SUFFIX_LENGTH, encode};
use crate::sql::{ToSql, Value};
use crate::{Code, Error, Result};

/// A kind of thing that has ids.
pub trait IdKind {
    /// What its ids begin with, before the underscore.
    const PREFIX: &'static str;
}

/// The id of a thing of one kind: a TypeID. What comes from outside is not checked before [`Id::check`].
///
/// ```compile_fail,E0308
/// use muniment_domain::id::{OfferingId, OperationId};
/// let operation: OperationId = OfferingId::from("off_01jc8yq3k5e9v8w2m4n6p7r9st");
/// ```
pub struct Id<K> {
    text: String,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<K: IdKind> Id<K> {
    /// The smallest id of the kind at this millisecond.
    pub fn first_of(at: DateTime<Utc>) -> Self {
        Self::bound(at, 0)
    }

    /// The largest id of the kind at this millisecond.
    pub fn last_of(at: DateTime<Utc>) -> Self {
        Self::bound(at, (1 << 80) - 1)
    }

    fn bound(at: DateTime<Utc>, rest: u128) -> Self {
        let millis = u64::try_from(at.timestamp_millis()).unwrap_or(0);
        Self::of_bits(u128::from(millis & 0xffff_ffff_ffff) << 80 | rest)
    }

    pub(super) fn of_bits(bits: u128) -> Self {
        format!("{}_{}", K::PREFIX, encode(bits)).into()
    }

    /// Whether a text is of this kind by its prefix.
    pub fn is_kind_of(text: &str) -> bool {
        text.strip_prefix(K::PREFIX).is_some_and(|rest| rest.starts_with('_'))
    }

    /// Whether it has the form of an id of its kind.
    pub fn is_sound(&self) -> bool {
        let suffix = self.text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_'));
        // The first character holds only three bits of the 128.
        suffix.is_some_and(|s| {
            s.len() == SUFFIX_LENGTH && s.as_bytes()[0] <= b'7' && s.bytes().all(|b| ALPHABET.contains(&b))
        })
    }

    /// Checks its form. A malformed id is `not_found`, because no such object can exist.
    pub fn check(&self) -> Result<()> {
        if self.is_sound() {
            return Ok(());
        }
        Err(Error::refused(Code::NotFound, format!("There is no {}_… with this id.", K::PREFIX)))
    }
}

impl<K> From<String> for Id<K> {
    fn from(text: String) -> Self {
        Self { text, kind: PhantomData }
    }
}

impl<K> From<&str> for Id<K> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<K> From<Id<K>> for String {
    fn from(id: Id<K>) -> Self {
        id.text
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        self.text.clone().into()
    }
}

impl<K> Default for Id<K> {
    fn default() -> Self {
        String::new().into()
    }
}

impl<K> Deref for Id<K> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<K> AsRef<str> for Id<K> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl<K> Borrow<str> for Id<K> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialEq<str> for Id<K> {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl<K> PartialEq<&str> for Id<K> {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl<K> PartialEq<&Self> for Id<K> {
    fn eq(&self, other: &&Self) -> bool {
        self.text == other.text
    }
}

impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

// As that of its text: a map of ids is asked by text as well.
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.text.serialize(to)
    }
}

impl<'de, K> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}

impl<K, DB: Database> sqlx::Type<DB> for Id<K>
where
    String: sqlx::Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <String as sqlx::Type<DB>>::type_info()
    }

    fn compatible(ty: &DB::TypeInfo) -> bool {
        <String as sqlx::Type<DB>>::compatible(ty)
    }
}

impl<'r, K, DB: Database> Decode<'r, DB> for Id<K>
where
    String: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> std::result::Result<Self, BoxDynError> {
        <String as Decode<DB>>::decode(value).map(Self::from)
    }
}

impl<K> ToSql for Id<K> {
    const NULL: Value = Value::Text(None);

    fn to_sql(&self) -> Value {
        self.text.to_sql()
    }
}

/// In the document of the API it is a string: its form stands with the fields.
impl<K> utoipa::PartialSchema for Id<K> {
    fn schema() -> RefOr<Schema> {
        RefOr::T(ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).into())
    }
}

impl<K: IdKind> utoipa::ToSchema for Id<K> {
    fn name() -> std::borrow::Cow<'static, str> {
        format!("Id_{}", K::PREFIX).into()
    }
}
