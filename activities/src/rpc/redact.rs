//! Removes API keys in URLs from every message.

/// Longest text of a node in a message, in characters.
const TEXT_CHARACTERS_MAX: usize = 400;

/// The part of a URL that may be shown, and the secrets to remove from texts.
#[derive(Clone, Debug)]
pub(crate) struct Redaction {
    /// Scheme, host and port.
    pub label: String,
    secrets: Vec<String>,
}

impl Redaction {
    /// Treats the user, the path and the query of the URL as secrets.
    pub fn of(url: &str) -> Redaction {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let parts = user.split(':').chain(tail.split(['/', '?', '&', '=', '#']));
        // Parts below six characters, such as "v3", are not secrets; removing them would garble ordinary words.
        let mut secrets: Vec<String> = parts.filter(|part| part.len() >= 6).map(str::to_owned).collect();
        // Longest first, so that a secret that contains another one is removed whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let hidden = if tail.len() > 1 { "/…" } else { "" };
        let label = if scheme.is_empty() { format!("{host}{hidden}") } else { format!("{scheme}://{host}{hidden}") };
        Redaction { label, secrets }
    }

    /// The text without secrets, on one line and shortened.
    pub fn clean(&self, text: &str) -> String {
        let clean = self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"));
        cut(&clean)
    }
}

/// The text on one line and shortened.
pub(crate) fn cut(text: &str) -> String {
    let line = |c: char| if c.is_control() { ' ' } else { c };
    // Cut at a character and not at a byte, which could split a character.
    match text.char_indices().nth(TEXT_CHARACTERS_MAX) {
        Some((end, _)) => text[..end].chars().map(line).chain(['…']).collect(),
        None => text.chars().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_path_query_or_user_of_a_url_is_never_shown() {
        for url in [
            "https://mainnet.infura.io/v3/0123456789abcdef",
            "https://node.example/?apikey=0123456789abcdef",
            "https://operator:0123456789abcdef@node.example:8545/rpc",
        ] {
            let redaction = Redaction::of(url);
            assert!(!redaction.label.contains("0123456789abcdef"), "{}", redaction.label);
            let text = format!("cannot reach {url}: key 0123456789abcdef is unknown");
            assert!(!redaction.clean(&text).contains("0123456789abcdef"));
        }
        assert_eq!(Redaction::of("https://a.example/v3/0123456789").label, "https://a.example/…");
        assert_eq!(Redaction::of("http://127.0.0.1:8545").label, "http://127.0.0.1:8545");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert!(Redaction::of("http://a").clean(&"é".repeat(10_000)).chars().count() <= TEXT_CHARACTERS_MAX + 1);
    }
}
