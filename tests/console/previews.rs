//! What a page showed is what its button does, and nothing more, whatever came up in between.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use world::{Mining, on_both_databases};

use super::visitor::{Visitor, field};
use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn a_mint_is_of_the_subscriptions_that_its_page_showed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        let ids = site.rows("select id from subscriptions order by id").await.concat();
        let accepted = async |status: &str| site.write(&format!("update subscriptions set status = '{status}' where id = '{}'", ids[1])).await;
        accepted("binding").await;
        let path = format!("/console/offerings/{}/mint", site.offerings[0]);
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let preview = olga.get(&path).await;
        assert!(preview.text.contains("to <b>1</b> subscriptions"), "{}", preview.text);
        accepted("accepted").await;
        assert_eq!(olga.submit(&preview, &path, &[]).await.status, 303);
        site.settled().await;
        assert_eq!(site.rows("select id from subscriptions where status = 'minted'").await.concat(), [ids[0].as_str()]);
        let rest = olga.get(&path).await;
        assert!(rest.text.contains("to <b>1</b> subscriptions") && rest.text.contains(&ids[1]), "{}", rest.text);
        let (csrf, key) = (field(&rest, "csrf"), field(&rest, "key"));
        let refused = olga.post(&path, &[("csrf", &csrf), ("key", &key)]).await;
        assert!(refused.status == 412 && refused.text.contains("This time nothing was minted."), "{refused:?}");
        assert_eq!(olga.submit(&refused, &path, &[]).await.status, 303, "the page says what it is now");
        site.settled().await;
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 2);
    }

    async fn a_retry_of_all_that_match_is_of_those_that_its_page_showed(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        site.config.engine("mint_page_holders", 1);
        let server = site.start().await;
        site.mint_refused(&server, 0).await;
        let failed = site.rows("select id from operations where kind = 'mint' order by id").await.concat();
        let coded = async |code: &str| site.write(&format!("update operations set error_code = '{code}' where id = '{}'", failed[2])).await;
        coded("effect_mismatch").await;
        let path = "/console/operations/retry";
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let preview = olga.get(&format!("{path}?status=failed&error_code=reverts")).await;
        assert!(preview.text.contains("Retry 2 of 2"), "{}", preview.text);
        coded("reverts").await;
        site.set_roles(Roles::ALL).await;
        let done = olga.submit(&preview, path, &[("reason", "The role of the signer is back.")]).await;
        let list = "/console/operations?status=failed&error_code=reverts";
        assert_eq!((done.status, done.location.as_str()), (303, list), "{}", done.text);
        assert!(olga.get(list).await.text.contains("2 retries are accepted."));
        site.until("two are confirmed", async || site.count("operations where kind = 'mint' and status = 'confirmed'").await == 2).await;
        assert_eq!(server.state(&failed[2]).await.0, "failed", "it was not on the page");
        assert_eq!(site.count("commands").await, 2);
    }
}
