use super::*;

fn doing(kind: ActorKind, object_id: Option<&str>) -> Doing {
    let person = matches!(kind, ActorKind::Person | ActorKind::Key);
    let actor = person.then(|| "usr_1".to_owned());
    let act = Act { actor, kind, object_id: object_id.map(str::to_owned), ..Act::on_host("POST /v1/things") };
    Doing { act: Arc::new(act), shown: None, events: Vec::new(), status: None, aside: false, marked: 0 }
}

fn line(doing: &Doing) -> Option<Line> {
    doing.line("aud_1".to_owned(), DateTime::UNIX_EPOCH)
}

#[test]
fn a_line_names_what_the_path_names_else_what_the_events_tell_of() {
    let mut named = doing(ActorKind::Person, Some("ent_7"));
    named.note("distribution.entitlement_held", "entitlement", "ent_7");
    named.note("distribution.updated", "distribution", "dist_1");
    let told = line(&named).unwrap();
    assert_eq!((told.object_type.as_deref(), told.object_id.as_deref()), (Some("entitlement"), Some("ent_7")));
    assert_eq!(told.detail, r#"{"events":["distribution.entitlement_held","distribution.updated"]}"#);
    let mut made = doing(ActorKind::Key, None);
    made.note("api_key.created", "api_key", "key_3");
    made.answered(201);
    let told = line(&made).unwrap();
    assert_eq!((told.object_type.as_deref(), told.detail.contains("201")), (Some("api_key"), true));
}

#[test]
fn what_was_rewound_or_is_beside_the_act_leaves_nothing() {
    let mut rewound = doing(ActorKind::Person, None);
    rewound.mark();
    rewound.note("user.created", "user", "usr_2");
    rewound.rewind();
    assert_eq!(line(&rewound).unwrap().detail, r#"{"events":[]}"#);
    rewound.set_aside();
    assert_eq!(line(&rewound), None);
}

#[test]
fn at_the_door_nobody_acts_until_something_happens_or_somebody_comes_in() {
    let mut door = doing(ActorKind::Anonymous, None);
    assert_eq!(line(&door), None);
    door.showed("usr_9", "ses_9");
    let told = line(&door).unwrap();
    assert_eq!((told.actor.as_deref(), told.object_type.as_deref()), (Some("usr_9"), Some("session")));
}
