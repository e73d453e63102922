//! The queue loses every job while operations run: the operations are rows of their own, and the sweep wakes them.

use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Terms};

const OFFERINGS: usize = 5;

/// From now on every job is deleted as soon as it is pushed.
async fn lose_jobs(site: &Installation) {
    match &site.database {
        Database::Sqlite(_) => {
            site.write("create trigger lose after insert on Jobs begin delete from Jobs where id = new.id; end").await;
        }
        Database::Postgres(_) => {
            let body = "begin delete from apalis.jobs where id = new.id; return null; end";
            site.write(&format!("create function lose() returns trigger language plpgsql as $$ {body} $$")).await;
            site.write("create trigger lose after insert on apalis.jobs for each row execute function lose()").await;
        }
    }
}

async fn keep_jobs(site: &Installation) {
    match &site.database {
        Database::Sqlite(_) => site.write("drop trigger lose").await,
        Database::Postgres(_) => site.write("drop trigger lose on apalis.jobs").await,
    };
}

fn jobs(site: &Installation) -> &'static str {
    match &site.database {
        Database::Sqlite(_) => "Jobs",
        Database::Postgres(_) => "apalis.jobs",
    }
}

on_both_databases! {
    async fn operations_whose_jobs_were_all_lost_are_finished(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2); OFFERINGS]).await;
        let server = site.start().await;
        server.deploy("first", &site.offerings[0]).await;
        site.settled().await;
        lose_jobs(&site).await;
        for (number, offering) in site.offerings.iter().enumerate().skip(1) {
            assert_eq!(server.deploy(&format!("deploy-{number}"), offering).await.status, 202);
        }
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        site.write(&format!("delete from {}", jobs(&site))).await;
        assert_eq!(site.count(jobs(&site)).await, 0);
        assert_eq!(site.count("operations where status = 'pending'").await, OFFERINGS as i64, "every wake was lost");
        keep_jobs(&site).await;
        site.settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (OFFERINGS, 1, 0));
    }
    async fn a_start_pushes_a_wake_only_for_an_operation_that_has_none(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1); OFFERINGS]).await;
        // The engine names the platform's contracts at its first start.
        site.start().await.process.kill();
        // A process that accepts and has no worker.
        let mut server = site.serve(site.launch(&["api"])).await;
        for (number, offering) in site.offerings.iter().enumerate() {
            assert_eq!(server.deploy(&format!("deploy-{number}"), offering).await.status, 202);
        }
        server.process.kill();
        let jobs = jobs(&site);
        site.write(&format!("delete from {jobs} where id = (select min(id) from {jobs})")).await;
        let _server = site.start().await;
        site.settled().await;
        assert_eq!(site.exactly_once().await.deployed, OFFERINGS);
        let pushed = site.count(&format!("{jobs} where job_type = 'deploy'")).await;
        assert_eq!(pushed, OFFERINGS as i64, "the first wakes but one, and another for that one");
    }
}
