use muniment_domain::email_link::EmailLink;

use super::*;

#[test]
fn notice_mail_has_no_token() {
    let mail = Mail { command: "cat".into(), from: "a@b.example".into(), page: "https://p.example".into() };
    let now = Utc::now();
    for (subject, about) in
        [("usr_1", "Subject: Failed logins"), ("apr_1", "Subject: An admin wants to approve their own request")]
    {
        let link = EmailLink {
            id: "lnk_1".to_owned(),
            user_id: "usr_1".to_owned(),
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
    let mail = |from: &str, page: &str| Mail { command: "cat".into(), from: from.into(), page: page.into() };
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
}
