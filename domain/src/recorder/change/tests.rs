use super::*;

#[test]
fn open_fields_show_values_and_personal_fields_show_names_only() {
    let facts = |status: &str, name: &str, version: i64| {
        Facts::new(json!({ "status": status, "cap": i64::MAX, "version": version }), json!({ "legal_name": name }))
    };
    let change = Change { before: facts("pending", "Ada", 1), after: facts("approved", "Ada Lovelace", 2) };
    let shown = change.shown();
    let diff = json!({ "status": { "from": "pending", "to": "approved" }, "legal_name": {} });
    assert_eq!(shown["diff_redacted"], diff);
    assert_ne!(shown["before_sha256"], shown["after_sha256"]);
    assert!(!shown.to_string().contains("Ada"));
    let renamed = Change { before: facts("pending", "Ada", 1), after: facts("pending", "Lady Ada", 1) };
    assert_eq!(renamed.shown()["diff_redacted"], json!({ "legal_name": {} }));
    assert_eq!(renamed.before.sha256(), renamed.after.sha256());
}

#[test]
fn a_long_text_shows_its_name_only_and_an_unchanged_status_nothing() {
    let text = |length: usize| Facts::new(json!({ "description": "x".repeat(length) }), json!({}));
    let change = Change { before: text(3), after: text(CHARACTERS_MAX + 1) };
    assert_eq!(change.shown()["diff_redacted"], json!({ "description": {} }));
    assert_eq!(status_change(Some(Some("open")), Some("open")), json!({}));
    assert_eq!(status_change(None, Some("open")), json!({}));
    assert_eq!(status_change(Some(None), Some("open"))["diff_redacted"]["status"]["to"], "open");
}
