//! An offering at the console, for those who may read all of it and for its issuer.

use muniment_domain::user::Role;
use world::{Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn an_issuer_sees_names_that_lead_only_staff_further(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        site.minted(&server).await;
        site.all_read().await;
        let at = format!("/console/offerings/{}", site.offerings[0]);
        let (investor, mint) = ("href=\"/console/investors/inv_", "href=\"/console/operations/op_");
        for (name, role) in [("olga", Role::Operator), ("aude", Role::Auditor)] {
            let seen = Visitor::with_role(&site, &server, name, role).await.get(&at).await;
            // The subscription and the line of the cap table.
            assert_eq!((seen.text.matches(investor).count(), seen.text.matches(mint).count()), (2, 1), "{name}: {}", seen.text);
        }
        let ines = site.person(&server, "ines", Role::Issuer).await;
        site.write(&format!("update users set issuer_id = (select issuer_id from offerings) where id = '{}'", ines.id)).await;
        let mut visitor = Visitor::new(&server);
        visitor.sign_in(&ines.email).await;
        let seen = visitor.get(&at).await;
        assert!(seen.status == 200 && seen.text.contains("Investor 0") && seen.text.contains("Minted"), "{}", seen.text);
        assert_eq!((seen.text.matches("/console/investors").count(), seen.text.matches("/console/operations").count()), (0, 0), "{}", seen.text);
    }
}
