//! A distribution: its pages, and decisions about one holder.

use muniment_domain::user::Role;
use world::on_both_databases;

use super::visitor::Visitor;
use crate::installation::PayoutFixture;

on_both_databases! {
    async fn a_page_that_needs_a_person_is_found_behind_many_newer_ones(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (site, id) = (&fixture.site, fixture.calculated("direct_payout", "20.00").await);
        fixture.executed(&id).await;
        fixture.reaches(&id, "completed").await;
        let copy = async |number: usize, id: &str, status: &str| {
            let ended = if status == "failed" { "null, updated_at" } else { "confirmed_at, null" };
            let insert = format!(
                "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_index, chain_id, payload, \
                     payload_sha256, cycle, faults, tx_hash, requested_by, idempotency_key, version, created_at, updated_at, \
                    submitted_at, confirmed_at, failed_at, error_code) \
                 select '{id}', kind, '{status}', subject_type, subject_id, offering_id, {number}, chain_id, payload, payload_sha256, \
                     cycle, faults, tx_hash, requested_by, 'copy-{number}', version, created_at, updated_at, \
                    submitted_at, {ended}, 'reverted' \
                 from operations where kind = 'payout' order by id desc limit 1"
            );
            assert_eq!(site.write(&insert).await, 1);
            let history = format!(
                "insert into operation_history (operation_id, version, cycle, to_status, at, actor, reason) \
                select id, version, cycle, status, updated_at, requested_by, 'a copy' from operations where id = '{id}'"
            );
            assert_eq!(site.write(&history).await, 1);
        };
        let old = format!("op_0{:0>25}", 1);
        copy(1, &old, "failed").await;
        let mut olga = Visitor::with_role(site, &fixture.server, "olga", Role::Operator).await;
        for number in 2..=55 {
            copy(number, &format!("op_7{number:0>25}"), "confirmed").await;
        }
        let at = format!("/console/distributions/{id}");
        let page = olga.get(&at).await.text;
        assert!(page.contains("One page needs a person.") && !page.contains(&old), "{page}");
        let next = page.split(&format!("href=\"{at}?after=")).nth(1).unwrap_or_else(|| panic!("no next page: {page}"));
        let next = format!("{at}?after={}", next.split('#').next().unwrap());
        assert!(olga.get(&next).await.text.contains(&old), "{next}");
        let needing = olga.get(&format!("{at}?pages=attention")).await.text;
        assert!(page.contains("?pages=attention#pages") && needing.contains(&old), "{needing}");
        assert!(!needing.contains(&format!("op_7{:0>25}", 55)), "{needing}");
    }

    async fn a_decision_about_a_holder_names_the_holder_and_an_unknown_one_is_refused(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let id = fixture.calculated("direct_payout", "20.00").await;
        let (of, wallet, cents, ..) = fixture.parts(&id).await.remove(1);
        let named = "select i.legal_name from investors i join entitlements e on e.investor_id = i.id where e.id";
        let name = fixture.site.rows(&format!("{named} = '{of}'")).await.concat().remove(0);
        let at = format!("/console/distributions/{id}");
        let mut olga = Visitor::with_role(&fixture.site, &fixture.server, "olga", Role::Operator).await;
        let shows = [name.clone(), wallet.to_checksum(None), format!("{}.{:02} EUR", cents / 100, cents % 100)];
        for word in ["hold", "release", "exclude", "pay-again"] {
            let sheet = olga.get(&format!("{at}/act/{word}?of={of}")).await;
            assert!(sheet.status == 200 && shows.iter().all(|shown| sheet.text.contains(shown)), "{word}: {}", sheet.text);
            for unknown in ["", "?of=ent_1", "?of=ent_01jc0000000000000000000000"] {
                let refused = olga.get(&format!("{at}/act/{word}{unknown}")).await;
                assert_eq!(refused.status, 404, "{word}{unknown}: {}", refused.text);
            }
        }
        let mut auditor = Visitor::with_role(&fixture.site, &fixture.server, "aude", Role::Auditor).await;
        let masked = auditor.get(&format!("{at}/act/hold?of={of}")).await.text;
        assert!(masked.contains(&shows[1]) && !masked.contains(&name), "{masked}");
        let hold = format!("{at}/act/hold");
        let sheet = olga.get(&format!("{hold}?of={of}")).await;
        let refused = olga.submit(&sheet, &hold, &[("reason", " ")]).await;
        assert!(refused.status >= 400 && shows.iter().all(|shown| refused.text.contains(shown)), "{}", refused.text);
        let done = olga.submit(&refused, &hold, &[("reason", "The bank asks.")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        let statuses: Vec<_> = fixture.parts(&id).await.into_iter().map(|part| part.3).collect();
        assert_eq!(statuses, ["calculated", "held"]);
    }
}
