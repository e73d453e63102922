//! The trace of the caller (W3C Trace Context). The log contains it, so that both logs can be read together.

use axum::http::HeaderMap;

const HEADER: &str = "traceparent";

/// The id of the trace. A malformed or repeated header is ignored.
pub fn id_of(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(HEADER).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    id(line.to_str().ok()?)
}

fn id(text: &str) -> Option<&str> {
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    let mut parts = text.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // A later version may go on behind what the first one has.
    let whole = parts.next().is_none() || version != "00";
    let sound = is_hex(version, 2) && version != "ff" && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2);
    (whole && sound).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_traceparent_is_ignored() {
        let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        assert_eq!(id(&format!("00-{trace}-{parent}-01")), Some(trace));
        assert_eq!(id(&format!("01-{trace}-{parent}-01-later")), Some(trace));
        let (zeros, upper) = ("0".repeat(32), trace.to_uppercase());
        for malformed in [
            String::new(),
            format!("00-{trace}-{parent}"),
            format!("00-{trace}-{parent}-01-later"),
            format!("ff-{trace}-{parent}-01"),
            format!("00-{zeros}-{parent}-01"),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{upper}-{parent}-01"),
            format!("00-{trace}0-{parent}-01"),
            format!("00-{trace}-{parent}-1"),
            format!("00-{trace}\n-{parent}-01"),
        ] {
            assert_eq!(id(&malformed), None, "{malformed}");
        }
    }
}
