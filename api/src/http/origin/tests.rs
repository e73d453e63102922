use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn forwarded_addresses_are_read_only_from_trusted_proxies() {
    let of = |peer: &str, forwarded: &'static str, trusted: &[IpAddr]| {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(FORWARDED), HeaderValue::from_static(forwarded))]);
        Origin::of(&headers, Some(&Peer(ip(peer))), trusted).ip.to_string()
    };
    assert_eq!(of("203.0.113.9", "10.1.1.1", &[]), "203.0.113.9");
    assert_eq!(of("10.0.0.1", "198.51.100.7, 203.0.113.9", &[ip("10.0.0.1")]), "203.0.113.9");
    assert_eq!(of("10.0.0.1", "203.0.113.9, 10.0.0.2", &[ip("10.0.0.1"), ip("10.0.0.2")]), "203.0.113.9");
    assert_eq!(of("10.0.0.1", "nonsense", &[ip("10.0.0.1")]), "10.0.0.1");
}

#[test]
fn network_contains_exactly_its_addresses() {
    for (address, network, within) in [
        ("10.1.2.3", "10.0.0.0/8", Some(true)),
        ("11.1.2.3", "10.0.0.0/8", Some(false)),
        ("10.1.2.3", "10.1.2.3", Some(true)),
        ("10.1.2.4", "10.1.2.3", Some(false)),
        ("::1", "0.0.0.0/0", Some(false)),
        ("2001:db8::5", "2001:db8::/32", Some(true)),
        ("1.2.3.4", "0.0.0.0/0", Some(true)),
        ("1.2.3.4", "1.2.3.4/33", None),
        ("1.2.3.4", "here", None),
    ] {
        assert_eq!(is_within(ip(address), network), within, "{address} in {network}");
    }
}

#[test]
fn foreign_origin_is_refused_on_endpoints_without_a_token() {
    let check = |origin: &'static str, allowed: &[String]| {
        let pairs = [
            (header::ORIGIN, HeaderValue::from_static(origin)),
            (header::HOST, HeaderValue::from_static("api.example")),
        ];
        check_page(&HeaderMap::from_iter(pairs), allowed).is_ok()
    };
    assert!(check("https://api.example", &[]));
    assert!(check("https://portal.example", &["https://portal.example".to_owned()]));
    assert!(!check("https://portal.example.evil.example", &["https://portal.example".to_owned()]));
    assert!(!check("null", &[]));
}

#[test]
fn a_network_of_ipv6_belongs_to_a_site() {
    let of = |address: &str| Origin { ip: ip(address), user_agent: String::new() };
    assert_eq!(of("203.0.113.9").site(), None);
    let home = of("2001:db8:7:1::5");
    assert_eq!((home.network(), home.site().unwrap()), ("2001:db8:7:1::/64".to_owned(), "2001:db8:7::/48".to_owned()));
}
