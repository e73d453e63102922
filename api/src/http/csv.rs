//! CSV tables that every spreadsheet can read.

use axum::http::{HeaderName, header};

/// The headers of a table that is kept under this name.
pub fn headers(name: &str) -> [(HeaderName, String); 3] {
    [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.csv\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ]
}

/// A line: its cells, and the end that RFC 4180 asks for.
pub fn line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<_> = cells.into_iter().map(|text| cell(text.as_ref())).collect();
    format!("{}\r\n", cells.join(","))
}

/// A cell: quoted where it must be, and never a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    // Some spreadsheets split at a semicolon or a tab.
    if text.contains([',', ';', '\t', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(cell("Ada Brandt"), "Ada Brandt");
        assert_eq!(cell("Brandt, \"Ada\""), "\"Brandt, \"\"Ada\"\"\"");
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(cell("a;=1+1"), "\"a;=1+1\"");
        assert_eq!(line(["a", "=b"]), "a,'=b\r\n");
    }
}
