use chrono::Utc;
use muniment_domain::email_link::{Due, EmailLink, Purpose};

use super::*;

#[test]
fn notice_mail_has_no_token() {
    let mail =
        Mail { command: "cat".into(), from: "a@b.example".into(), page: "https://p.example".into(), ..Mail::default() };
    let now = Utc::now();
    for (subject, about) in
        [("usr_1", "Subject: Failed logins"), ("apr_1", "Subject: An admin wants to approve their own request")]
    {
        let link = EmailLink {
            id: "lnk_1".into(),
            user_id: "usr_1".into(),
            purpose: Purpose::Notice,
            subject_id: Some(subject.to_owned()),
            expires_at: now,
            used_at: None,
            created_at: now,
            tries: 0,
            registered_again: false,
        };
        let message = mail.message(&Due { link, email: "ada@people.example".to_owned() }, "secret");
        assert!(message.contains(about) && message.contains(&format!("about={subject}")), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn mail_without_sender_or_page_is_refused() {
    let mail = |from: &str, page: &str| Mail {
        command: "cat".into(),
        from: from.into(),
        page: page.into(),
        ..Mail::default()
    };
    assert!(mail("no-reply@example.com", "https://portal.example/account").check().is_ok());
    for (from, page) in [
        ("", "https://p.example"),
        ("a@b\r\nBcc: c@d", "https://p.example"),
        ("a@b", ""),
        ("a@b", "https://p .example"),
    ] {
        assert!(mail(from, page).check().is_err(), "{from:?} {page:?}");
    }
    assert!(Mail::default().check().is_ok());
    let good = mail("no-reply@example.com", "https://portal.example/account");
    let by_server = |url: &str| Mail { command: String::new(), smtp_url: url.into(), ..good.clone() };
    assert!(by_server("smtps://user:word@mail.example.com").check().is_ok());
    assert!(by_server("mail.example.com").check().is_err(), "a server is a URL");
    assert!(Mail { smtp_url: "smtp://localhost".into(), ..good.clone() }.check().is_err(), "a command and a server");
    let shown =
        format!("{:?}{}", by_server("smtp://u:word@h"), serde_json::to_string(&by_server("smtp://u:word@h")).unwrap());
    assert!(!shown.contains("word"), "{shown}");
}
