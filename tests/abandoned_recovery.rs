//! What an abandoned recovery leaves behind.

use muniment_domain::point::Point;
use muniment_domain::wallet::insert_unverified;
use muniment_domain::{Code, Error};
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Terms, open, wallet};
use crate::recover::{NEW, PATH, recovery};

on_both_databases! {
    async fn the_address_of_an_abandoned_recovery_is_free(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        site.minted(&server).await;
        site.lanes("paused").await;
        server.request_and_approve(&second, PATH, "recover", recovery(&site, &site.offerings[0], NEW).await).await;
        let other = site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(1))).await[0][0].clone();
        drop(server);
        let db = open(&site.database.url()).await;
        let claim = async || {
            let mut tx = db.begin().await.unwrap();
            let claimed = insert_unverified(&mut tx, &other.as_str().into(), NEW).await;
            tx.commit(Point::Accept).await.unwrap();
            claimed
        };
        assert!(matches!(claim().await, Err(Error::Refused { code: Code::WalletInUse, .. })));
        site.write("update operations set status = 'failed', resolution = 'abandoned' where kind = 'recover'").await;
        claim().await.unwrap();
        let theirs = format!("wallets where address = '{NEW:#x}' and investor_id = '{other}' and reserved_by is null");
        assert_eq!(site.count(&theirs).await, 1);
        db.close().await;
    }
}
