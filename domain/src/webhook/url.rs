//! Validation of webhook URLs. Only allowed characters and forms pass, so that two parsers cannot find different hosts in one text.

/// Limit on the length of a URL.
pub const CHARACTERS_MAX: usize = 2_048;
const HOST_CHARACTERS_MAX: usize = 253;
const LABEL_CHARACTERS_MAX: usize = 63;
const PORTS: [u16; 2] = [443, 8443];

/// Top-level names of private networks or without a meaning on the internet.
const LOCAL: &[&str] = &[
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
    "svc",
    "consul",
    "cluster",
    "onion",
    "invalid",
    "test",
];

/// The host and port of a valid URL, or the reason why it is invalid.
///
/// `insecure` is for development: it allows http, any port and any host.
pub fn check(text: &str, insecure: bool) -> Result<(String, u16), &'static str> {
    if text.len() > CHARACTERS_MAX {
        return Err("it is longer than 2048 characters");
    }
    if !text.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
        || text.contains(['\\', '#', '"', '<', '>', '`', '{', '}', '|', '^'])
    {
        return Err("it has characters that are not allowed in a URL; write an international name as xn--…");
    }
    let (scheme, rest) = text.split_once("://").ok_or("it does not begin with https://")?;
    let standard = match scheme {
        "https" => 443,
        "http" if insecure => 80,
        _ => return Err("it does not begin with https://"),
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = &rest[..end];
    // A user name before the host hides the real host from a reader.
    if authority.contains('@') {
        return Err("it contains a user name or a password");
    }
    if insecure && authority.starts_with('[') {
        return Err("an IPv6 address is not supported");
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, number(port).ok_or("its port is not a number")?),
        None => (authority, standard),
    };
    if !insecure && !PORTS.contains(&port) {
        return Err("its port is neither 443 nor 8443");
    }
    // Hosts are compared without regard to case.
    let host = host.to_ascii_lowercase();
    check_host(&host, insecure)?;
    Ok((host, port))
}

fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0)
}

fn check_host(host: &str, insecure: bool) -> Result<(), &'static str> {
    let sound = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=LABEL_CHARACTERS_MAX).contains(&label.len()) && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    let labels: Vec<_> = host.split('.').collect();
    if host.len() > HOST_CHARACTERS_MAX || !labels.iter().all(|label| sound(label)) {
        return Err("its host is not a domain name");
    }
    if insecure {
        return Ok(());
    }
    let last = labels.last().copied().unwrap_or_default();
    // Some parsers read `0x7f.1` and `2130706433` as addresses: a last label that begins with a digit makes the host a number.
    if last.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
        return Err("its host is a number, not a name");
    }
    if labels.len() < 2 || LOCAL.contains(&last) {
        return Err("its host is a name of a private network");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
