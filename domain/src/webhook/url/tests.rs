//! Unit tests of `url.rs`.

use super::*;

#[test]
fn an_address_is_https_at_a_public_name() {
    for (text, host, port) in [
        ("https://hooks.portal.example/in?x=1", "hooks.portal.example", 443),
        ("https://Hooks.Portal.example", "hooks.portal.example", 443),
        ("https://hooks.portal.example:8443/", "hooks.portal.example", 8443),
        ("https://xn--bcher-kva.example/%2F@a", "xn--bcher-kva.example", 443),
    ] {
        assert_eq!(check(text, false), Ok((host.to_owned(), port)), "{text}");
    }
    assert_eq!(check("http://127.0.0.1:9000/x", true), Ok(("127.0.0.1".to_owned(), 9000)));
    assert_eq!(check("http://localhost", true), Ok(("localhost".to_owned(), 80)));
    for text in ["ftp://a.example", "http://user@a.example", "http://a.example:0/", "http://[::1]/", "http:///x"] {
        assert!(check(text, true).is_err(), "{text}");
    }
}
