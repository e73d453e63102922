use super::*;

fn recorder(kind: ActorKind, object_id: Option<&str>) -> Recorder {
    let person = matches!(kind, ActorKind::Person | ActorKind::Key);
    let actor = person.then(|| "usr_1".to_owned());
    let act = Act { actor, kind, object_id: object_id.map(str::to_owned), ..Act::host_command("POST /v1/things") };
    Recorder { act: Some(Arc::new(act)), ..Recorder::default() }
}

fn lines(recorder: &Recorder) -> Vec<Entry> {
    let mut number = 0;
    recorder.entries(Point::Timer, DateTime::UNIX_EPOCH, || {
        number += 1;
        format!("aud_{number}").into()
    })
}

fn about(line: &Entry) -> (Option<&str>, Option<&str>) {
    (line.object_type.as_deref(), line.object_id.as_deref())
}

#[test]
fn the_act_has_one_entry_and_every_other_object_has_its_own() {
    let mut named = recorder(ActorKind::Person, Some("ent_7"));
    named.record_event("distribution.updated", "distribution", "dist_1", &json!({}));
    named.record_event(
        "distribution.entitlement_held",
        "entitlement",
        "ent_7",
        &json!({ "from": null, "status": "held" }),
    );
    let entries = lines(&named);
    assert_eq!(
        entries.iter().map(about).collect::<Vec<_>>(),
        [(Some("entitlement"), Some("ent_7")), (Some("distribution"), Some("dist_1"))]
    );
    let moved = r#""diff_redacted":{"status":{"from":null,"to":"held"}}"#;
    assert_eq!(entries[0].detail, format!(r#"{{{moved},"events":["distribution.entitlement_held"]}}"#));
    assert_eq!(entries[1].detail, r#"{"events":["distribution.updated"]}"#);
    let mut made = recorder(ActorKind::Key, None);
    made.record_event("api_key.created", "api_key", "key_3", &json!({}));
    made.set_http_status(201);
    let entries = lines(&made);
    assert_eq!(
        (entries.len(), entries[0].object_type.as_deref(), entries[0].detail.contains("201")),
        (1, Some("api_key"), true)
    );
}

#[test]
fn the_engine_writes_one_entry_for_each_object_with_the_commit_as_action() {
    let mut engine = Recorder::default();
    assert_eq!(lines(&engine), []);
    for number in 0..100 {
        let data = json!({ "from": "accepted", "status": "minted" });
        engine.record_event("subscription.minted", "subscription", &format!("sub_{number}"), &data);
        engine.record_event("subscription.minted", "subscription", &format!("sub_{number}"), &data);
    }
    let entries = lines(&engine);
    assert_eq!(entries.len(), 100);
    let line = &entries[99];
    assert_eq!((line.actor_kind, line.action.as_str(), &line.actor), (ActorKind::Engine, "timer", &None));
    assert_eq!(about(line), (Some("subscription"), Some("sub_99")));
    let moved = r#""diff_redacted":{"status":{"from":"accepted","to":"minted"}}"#;
    assert_eq!(line.detail, format!(r#"{{{moved},"events":["subscription.minted"]}}"#));
}

#[test]
fn a_rewound_or_separate_change_leaves_no_entry() {
    let mut rewound = recorder(ActorKind::Person, None);
    rewound.savepoint();
    rewound.record_event("user.created", "user", "usr_2", &json!({}));
    rewound.record_change("usr_2", Facts::default(), Facts::default());
    rewound.rollback_to_savepoint();
    let entries = lines(&rewound);
    assert_eq!((entries.len(), entries[0].detail.as_str()), (1, r#"{"events":[]}"#));
    rewound.exclude_from_audit();
    assert_eq!(lines(&rewound), []);
}

#[test]
fn two_changes_of_one_row_show_the_first_and_the_last_value() {
    let facts = |status: &str| Facts::new(json!({ "status": status }), json!({}));
    let mut changed = recorder(ActorKind::Person, Some("off_1"));
    changed.record_event("offering.closed", "offering", "off_1", &json!({ "from": "open", "status": "closed" }));
    changed.record_change("off_1", facts("open"), facts("closed"));
    changed.record_change("off_1", facts("closed"), facts("settled"));
    let detail: Value = serde_json::from_str(&lines(&changed)[0].detail).unwrap();
    assert_eq!(detail["diff_redacted"], json!({ "status": { "from": "open", "to": "settled" } }));
    assert_eq!(detail["after_sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn an_anonymous_act_has_an_entry_only_after_a_change_or_a_login() {
    let mut login = recorder(ActorKind::Anonymous, None);
    assert_eq!(lines(&login), []);
    login.set_authenticated(&"usr_9".into(), &"ses_9".into());
    let entries = lines(&login);
    assert_eq!((entries[0].actor.as_deref(), entries[0].object_type.as_deref()), (Some("usr_9"), Some("session")));
}
