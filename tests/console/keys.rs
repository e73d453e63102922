//! API keys at the console.

use muniment_domain::user::Role;
use world::on_both_databases;

use super::visitor::Visitor;
use crate::installation::ApiFixture;

/// How many keys the API lists at once.
const PAGE: usize = 100;

on_both_databases! {
    async fn a_key_behind_hundreds_of_newer_ones_is_revoked(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Admin).await;
        let key = |number: usize, ends: &str| {
            format!("('key_{number:026}', '{}', 'k{number}', 'rap_test_0000', '{number}', 'ops:read', '{ends}', '2026-01-01T00:00:00+00:00')", ada.id)
        };
        // The oldest is the only one that still works.
        let mut keys = vec![key(0, "2099-01-01T00:00:00+00:00")];
        keys.extend((1..=2 * PAGE).map(|number| key(number, "2026-01-02T00:00:00+00:00")));
        let columns = "id, user_id, name, prefix, key_sha256, scopes, expires_at, created_at";
        api.write(&format!("insert into api_keys ({columns}) values {}", keys.join(", "))).await;
        let mut visitor = Visitor::new(&server);
        visitor.sign_in(&ada.email).await;
        let at = format!("/console/keys/key_{:026}", 0);
        assert!(visitor.get("/console/keys?page=5").await.text.contains(&format!("{at}/act/revoke")));
        let rotate = visitor.get(&format!("{at}/act/rotate")).await;
        assert!(rotate.status == 200 && rotate.text.contains("type=\"submit\">Rotate"), "{rotate:?}");
        let path = format!("{at}/act/revoke");
        let sheet = visitor.get(&path).await;
        assert_eq!(visitor.submit(&sheet, &path, &[]).await.status, 303);
        let revoked = api.rows("select name from api_keys where revoked_at is not null").await;
        assert_eq!(revoked, [["k0"]]);
        let unknown = visitor.get("/console/keys/key_01jc8yq3k5e9v8w2m4n6p7r9st/act/revoke").await;
        assert!(unknown.status == 404 && unknown.text.contains("There is no key"), "{unknown:?}");
    }
}
