//! The size of the long campaigns.

/// Chooses the size of a campaign: the first in every run, the second where `ops/test --long` asks for the whole campaign.
///
/// No other Rust code reads the variable. tests/README.md lists the sizes.
pub fn campaign<T>((every_run, whole): (T, T)) -> T {
    if std::env::var("MUNIMENT_LONG").is_ok_and(|long| long == "1") { whole } else { every_run }
}
