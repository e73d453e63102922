use super::*;

#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Outer {
    #[allow(dead_code)]
    id: String,
    #[allow(dead_code)]
    inner: Option<Inner>,
}

#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Inner {
    #[allow(dead_code)]
    at: Option<chrono::DateTime<chrono::Utc>>,
    #[allow(dead_code)]
    list: Option<Vec<String>>,
}

fn refused(text: &str) -> (Code, String, String) {
    let problem = parse::<Outer>(text.as_bytes()).unwrap_err();
    let body = problem.body("", "/", "req");
    let of = |key: &str| body["errors"][0][key].as_str().unwrap_or_default().to_owned();
    (problem.code, of("code"), of("pointer"))
}

#[test]
fn a_wrong_type_is_described_without_words_of_the_implementation() {
    for (text, detail) in [
        ("invalid type: integer `7`, expected a string", "The value must be a string."),
        ("invalid type: sequence, expected struct Login", "The value must be an object."),
        ("invalid type: string \"a\", expected i64", "The value must be a whole number."),
        (
            "unknown variant `opened`, expected `open` or `paused`",
            "The value opened is not allowed. Allowed: open or paused.",
        ),
        ("unknown variant `x`, expected one of `a`, `b`, `c`", "The value x is not allowed. Allowed: a, b, c."),
    ] {
        assert_eq!(mismatch(text), detail);
    }
}

#[test]
fn body_errors_name_the_field() {
    let field = |code: &str, pointer: &str| (Code::ValidationFailed, code.to_owned(), pointer.to_owned());
    assert_eq!(refused(r#"{"id":"a","more":1}"#), field("unknown_field", "/more"));
    assert_eq!(refused(r#"{"id":"a","inner":{"more":1}}"#), field("unknown_field", "/inner/more"));
    assert_eq!(refused("{}"), field("required", "/id"));
    assert_eq!(refused(r#"{"id":7}"#), field("type_mismatch", "/id"));
    assert_eq!(refused(r#"{"id":"a","inner":{"at":"tomorrow"}}"#), field("type_mismatch", "/inner/at"));
    assert_eq!(refused(r#"{"id":"a","inner":{"list":["b",3]}}"#), field("type_mismatch", "/inner/list/1"));
    for list in ["[]", r#"["a",null]"#] {
        assert_eq!(refused(list), field("type_mismatch", ""), "{list}");
    }
    assert_eq!(refused(r#"{"id":"a","inner":[null,["b"]]}"#), field("type_mismatch", "/inner"));
}

#[test]
fn all_invalid_fields_are_named_at_once() {
    #[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it can be read matters")]
    struct Body {
        name: String,
        count: i64,
        amount: crate::field::amount::Amount,
        #[serde(default)]
        kinds: Vec<Kind>,
        inner: Option<Inner>,
        parts: Option<Vec<Part>>,
        pair: Option<[i64; 2]>,
    }
    #[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
    }
    #[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
    #[allow(dead_code, reason = "only whether it can be read matters")]
    struct Part {
        from: i64,
        to: i64,
    }
    let invalid = |sent: serde_json::Value| {
        let problem = parse::<Body>(sent.to_string().as_bytes()).unwrap_err();
        let fields = problem.fields().iter().map(|field| format!("{} {}", field.pointer, field.code));
        fields.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let sent = serde_json::json!({
        "amount": "7", "kinds": ["two", "one", 3, "four"], "a/b": 1, "inner": { "list": "x", "more": 1 },
        "parts": [{ "from": 1 }, { "from": 1, "to": 2 }, { "from": "1", "to": "2" }], "pair": [1, 2, 3],
    });
    assert_eq!(
        invalid(sent),
        [
            "/amount amount_format",
            "/a~1b unknown_field",
            "/count required",
            "/inner/list type_mismatch",
            "/inner/more unknown_field",
            "/kinds/0 type_mismatch",
            "/kinds/2 type_mismatch",
            "/kinds/3 type_mismatch",
            "/name required",
            "/pair type_mismatch",
            "/parts/0/to required",
            "/parts/2/from type_mismatch",
            "/parts/2/to type_mismatch",
        ]
    );
    assert_eq!(invalid(serde_json::json!([])), [" type_mismatch"]);
    assert_eq!(invalid(serde_json::json!({ "name": "a", "count": 1, "amount": 7 })), ["/amount type_mismatch"]);
}

#[test]
fn nul_character_is_refused_with_its_field() {
    let field = |pointer: &str| (Code::ValidationFailed, "text_format".to_owned(), pointer.to_owned());
    assert_eq!(refused(r#"{"id":"a\u0000"}"#), field("/id"));
    assert_eq!(refused(r#"{"id":"a","inner":{"list":["b","\u0000"]}}"#), field("/inner/list/1"));
    assert_eq!(refused(r#"{"id":"a","inner":{"li\u0000":1}}"#), field("/inner/li\0"));
}

#[test]
fn duplicate_name_is_refused_at_every_depth() {
    for (text, pointer) in [
        (r#"{"id":"a","id":"a"}"#, "/id"),
        (r#"{"id":"a","id":{"id":1,"id":2}}"#, "/id"),
        (r#"{"id":"a","inner":{"list":[],"list":[]}}"#, "/inner/list"),
        (r#"{"id":"a","inner":[0,{"a/b":1,"c":{},"a/b":1}]}"#, "/inner/1/a~1b"),
        (r#"{"id":"a","\u0069d":"b"}"#, "/id"),
    ] {
        assert_eq!(refused(text), (Code::MalformedJson, "duplicate".to_owned(), pointer.to_owned()), "{text}");
    }
    assert!(parse::<Outer>(r#"{"id":"a","inner":{"at":null,"list":["id","id"]}}"#.as_bytes()).is_ok());
}

#[test]
fn invalid_json_is_reported() {
    for text in ["", "{", "{\"id\":\"a\"} x", "\u{feff}{}", "{'id':1}"] {
        assert_eq!(refused(text).0, Code::MalformedJson, "{text}");
    }
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    assert_eq!(refused(&deep).0, Code::MalformedJson);
}
