//! The header `Accept` (RFC 9110, 12.5.1). A problem is sent whatever the header says, because it explains the refusal.

use axum::http::{HeaderMap, header};

/// Whether the caller takes one of these types. Who says nothing, or nothing that can be read, takes everything.
pub fn takes(headers: &HeaderMap, given: &[impl AsRef<str>]) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<Range<'_>> = lines.flat_map(|line| line.split(',')).filter_map(Range::of).collect();
    ranges.is_empty() || given.iter().any(|kind| is_taken(&ranges, kind.as_ref()))
}

// The range that says most of a type decides about it: `text/html;q=0, */*` takes all but pages.
fn is_taken(ranges: &[Range<'_>], kind: &str) -> bool {
    let fitting = ranges.iter().filter(|range| range.covers(kind));
    fitting.max_by_key(|range| (range.precision(), !range.refused)).is_some_and(|range| !range.refused)
}

/// One of the types that are taken, with wildcards, or refused by the weight zero.
struct Range<'a> {
    kind: &'a str,
    refused: bool,
}

impl<'a> Range<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().filter(|kind| kind.split('/').filter(|word| !word.is_empty()).count() == 2)?;
        let weight = parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.eq_ignore_ascii_case("q"));
        Some(Self { kind, refused: weight.is_some_and(|(_, weight)| weight.parse() == Ok(0.0_f32)) })
    }

    fn covers(&self, kind: &str) -> bool {
        let family = self.kind.strip_suffix("/*");
        match family {
            Some("*") => true,
            Some(family) => kind.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(family)),
            None => self.kind.eq_ignore_ascii_case(kind),
        }
    }

    fn precision(&self) -> u8 {
        match self.kind {
            "*/*" => 0,
            kind if kind.ends_with("/*") => 1,
            _ => 2,
        }
    }
}

#[cfg(test)]
mod tests;
