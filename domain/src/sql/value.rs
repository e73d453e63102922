//! The values of a statement, as both databases take them.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;
use sqlx::postgres::PgArguments;
use sqlx::types::Json;
use sqlx::{Arguments, Encode, Type};

use crate::Result;

/// A value, or the null of its type: PostgreSQL asks for the type of a null, too.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Text(Option<Cow<'static, str>>),
    Int(Option<i64>),
    Bool(Option<bool>),
    Time(Option<DateTime<Utc>>),
    Bytes(Option<Vec<u8>>),
    Json(Option<Json<serde_json::Value>>),
    /// A value without a form in JSON, and why.
    Invalid(String),
}

impl Value {
    /// The value in JSON. Bytes are not shown.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Int(number) => json!(number),
            Self::Bool(flag) => json!(flag),
            Self::Time(time) => json!(time),
            Self::Json(json) => json!(json),
            Self::Bytes(_) | Self::Invalid(_) => serde_json::Value::Null,
        }
    }

    /// The name of its type on PostgreSQL.
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Invalid(_) => "text",
            Self::Int(_) => "bigint",
            Self::Bool(_) => "boolean",
            Self::Time(_) => "timestamptz",
            Self::Bytes(_) => "bytea",
            Self::Json(_) => "jsonb",
        }
    }

    /// Adds a column of values of this one's type as one array.
    pub(super) fn add_array(&self, arguments: &mut PgArguments, column: Vec<Self>) -> Result<()> {
        macro_rules! array {
            ($variant:ident) => {{
                let held = column.into_iter().map(|value| match value {
                    Self::$variant(held) => Ok(held),
                    Self::Invalid(why) => Err(why),
                    other => Err(format!("{} in a column of {}", other.type_name(), self.type_name())),
                });
                held.collect::<Result<Vec<_>, String>>().map_err(Into::into).and_then(|held| arguments.add(held))
            }};
        }
        let added = match self {
            Self::Text(_) => array!(Text),
            Self::Int(_) => array!(Int),
            Self::Bool(_) => array!(Bool),
            Self::Time(_) => array!(Time),
            Self::Bytes(_) => array!(Bytes),
            Self::Json(_) => array!(Json),
            Self::Invalid(why) => Err(why.clone().into()),
        };
        Ok(added.map_err(sqlx::Error::Encode)?)
    }
}

/// A type that a column can hold.
pub trait ToSql {
    /// Null, for a column of this type.
    const NULL: Value;

    /// The value in its column.
    fn to_sql(&self) -> Value;
}

/// One value, or several as a tuple.
pub trait Bind {
    /// Adds the values.
    fn bind_to(self, values: &mut Vec<Value>);

    /// Adds the null of each.
    fn nulls(values: &mut Vec<Value>);
}

macro_rules! to_sql {
    ($($type:ty => $variant:ident($value:ident => $held:expr)),+ $(,)?) => {
        $(impl ToSql for $type {
            const NULL: Value = Value::$variant(None);

            fn to_sql(&self) -> Value {
                let $value = self;
                Value::$variant(Some($held))
            }
        })+
    };
}

to_sql! {
    str => Text(text => Cow::Owned(text.to_owned())),
    String => Text(text => Cow::Owned(text.clone())),
    i64 => Int(number => *number),
    bool => Bool(flag => *flag),
    DateTime<Utc> => Time(time => *time),
    [u8] => Bytes(bytes => bytes.to_vec()),
    Vec<u8> => Bytes(bytes => bytes.clone()),
}

impl<T: Serialize> ToSql for Json<T> {
    const NULL: Value = Value::Json(None);

    fn to_sql(&self) -> Value {
        serde_json::to_value(&self.0)
            .map_or_else(|e| Value::Invalid(e.to_string()), |json| Value::Json(Some(Json(json))))
    }
}

impl<T: ToSql> ToSql for Option<T> {
    const NULL: Value = T::NULL;

    fn to_sql(&self) -> Value {
        self.as_ref().map_or(T::NULL, T::to_sql)
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    const NULL: Value = T::NULL;

    fn to_sql(&self) -> Value {
        T::to_sql(self)
    }
}

impl<T: ToSql> Bind for T {
    fn bind_to(self, values: &mut Vec<Value>) {
        values.push(self.to_sql());
    }

    fn nulls(values: &mut Vec<Value>) {
        values.push(T::NULL);
    }
}

macro_rules! bind_tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        impl<$first: ToSql, $($rest: ToSql),*> Bind for ($first, $($rest,)*) {
            fn bind_to(self, values: &mut Vec<Value>) {
                #[allow(non_snake_case)]
                let ($first, $($rest,)*) = self;
                values.extend([$first.to_sql(), $($rest.to_sql()),*]);
            }

            fn nulls(values: &mut Vec<Value>) {
                values.extend([$first::NULL, $($rest::NULL),*]);
            }
        }
        bind_tuples!($($rest)*);
    };
}
bind_tuples!(A B C D E F G H I J K L M N O P Q R S T U V);

/// Adds the values as one driver takes them.
pub(super) fn add_all<A>(arguments: &mut A, values: Vec<Value>) -> Result<()>
where
    A: Arguments,
    Option<Cow<'static, str>>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<i64>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<bool>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<DateTime<Utc>>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<Vec<u8>>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
    Option<Json<serde_json::Value>>: for<'q> Encode<'q, A::Database> + Type<A::Database>,
{
    arguments.reserve(values.len(), 0);
    for value in values {
        match value {
            Value::Text(value) => arguments.add(value),
            Value::Int(value) => arguments.add(value),
            Value::Bool(value) => arguments.add(value),
            Value::Time(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
            Value::Json(value) => arguments.add(value),
            Value::Invalid(why) => Err(why.into()),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(())
}
