//! Rust values in text columns, with the same text on both databases.

use std::fmt::{Display, LowerHex};
use std::ops::Deref;
use std::str::FromStr;

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};

use crate::sql::{ToSql, Value};

/// A hash or an address, stored as `0x` and lower-case hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<T>(pub T);

/// A number too large for the database's integers, stored as decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dec<T>(pub T);

impl<T: LowerHex> Display for Hex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<T: Display> Display for Dec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! as_text {
    ($wrapper:ident, $shows:ident) => {
        impl<T> Deref for $wrapper<T> {
            type Target = T;
            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T: FromStr> FromStr for $wrapper<T> {
            type Err = T::Err;
            fn from_str(text: &str) -> Result<Self, T::Err> {
                text.parse().map(Self)
            }
        }

        impl<T, DB: Database> Type<DB> for $wrapper<T>
        where
            String: Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                String::type_info()
            }
            fn compatible(ty: &DB::TypeInfo) -> bool {
                String::compatible(ty)
            }
        }

        impl<T: $shows> ToSql for $wrapper<T> {
            const NULL: Value = Value::Text(None);

            fn to_sql(&self) -> Value {
                Value::Text(Some(self.to_string().into()))
            }
        }

        impl<'r, T: FromStr, DB: Database> Decode<'r, DB> for $wrapper<T>
        where
            &'r str: Decode<'r, DB>,
            T::Err: std::error::Error + Send + Sync + 'static,
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
                Ok(Self(<&str as Decode<DB>>::decode(value)?.parse()?))
            }
        }
    };
}
as_text!(Hex, LowerHex);
as_text!(Dec, Display);

/// An enum of words: one list for the database, JSON and the OpenAPI document.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// All values, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word of this value.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::error::UnknownWord { kind: stringify!($name), word: text.to_owned() }),
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::schema::enumeration(
                    &[$(stringify!($meta)),*],
                    &[$(($word, &[$(stringify!($doc)),*])),+],
                )
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                $crate::schema::name(module_path!(), stringify!($name)).into()
            }
        }

        impl<DB: sqlx::Database> sqlx::Type<DB> for $name where String: sqlx::Type<DB> {
            fn type_info() -> DB::TypeInfo { <String as sqlx::Type<DB>>::type_info() }
            fn compatible(ty: &DB::TypeInfo) -> bool { <String as sqlx::Type<DB>>::compatible(ty) }
        }

        impl $crate::sql::ToSql for $name {
            const NULL: $crate::sql::Value = $crate::sql::Value::Text(None);

            fn to_sql(&self) -> $crate::sql::Value {
                $crate::sql::Value::Text(Some(self.as_str().into()))
            }
        }

        impl<'r, DB: sqlx::Database> sqlx::Decode<'r, DB> for $name where &'r str: sqlx::Decode<'r, DB> {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                Ok(<&str as sqlx::Decode<DB>>::decode(value)?.parse::<Self>()?)
            }
        }
    };
}
