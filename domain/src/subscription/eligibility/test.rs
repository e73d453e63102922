use super::*;
use crate::exemption::Exemption;
use crate::investment_limit::Finances;
use crate::investor::Accreditation;
use crate::offering::Offering;

fn offered() -> Offering {
    Offering {
        status: Offered::Open,
        minimum_investment: 100_000,
        hard_cap: 10_000_000,
        unit_price: 100,
        token_decimals: 2,
        ..Offering::default()
    }
}

fn somebody() -> Investor {
    Investor {
        id: "inv_1".into(),
        country: "DE".to_owned(),
        kyc_status: KycStatus::Approved,
        sanctions_status: Screening::Clear,
        accreditation_status: Accreditation::None,
        accreditation_expires_at: None,
        means: Finances::default(),
        risk_warned_at: None,
    }
}

fn facts<'a>(stage: Stage, offering: &'a Offering, investor: &'a Investor) -> Facts<'a> {
    let relation = Relation { wallet_verified: Some(true), ..Relation::default() };
    let now = chrono::DateTime::UNIX_EPOCH;
    Facts {
        stage,
        offering,
        investor,
        amount: 150_000,
        held: 150_000,
        relation,
        reservation_limit: None,
        acknowledged: &[],
        now,
    }
}

/// The code of the first refusal.
fn refused(facts: &Facts<'_>) -> Option<String> {
    verdict(evaluate(facts)).err().map(|e| e.refusal().unwrap().0.to_owned())
}

#[test]
fn each_rule_of_a_commitment_refuses_with_its_code() {
    let (o, i) = (offered(), somebody());
    assert_eq!(refused(&facts(Stage::Commit, &o, &i)), None);
    let of = |change: &dyn Fn(&mut Offering)| {
        let mut o = offered();
        change(&mut o);
        refused(&facts(Stage::Commit, &o, &i)).unwrap_or_default()
    };
    assert_eq!(of(&|o| o.status = Offered::Paused), "offering_not_open");
    assert_eq!(of(&|o| o.closes_at = Some(chrono::DateTime::UNIX_EPOCH)), "offering_not_open");
    assert_eq!(of(&|o| o.blocked_countries = "FR DE".to_owned()), "country_blocked");
    assert_eq!(of(&|o| o.allowed_countries = "FR".to_owned()), "country_blocked");
    assert_eq!(of(&|o| o.allowed_countries = "FR DE".to_owned()), "");
    assert_eq!(of(&|o| o.accreditation_required = true), "accreditation_required");
    assert_eq!(of(&|o| o.exemption = Exemption::RegD506c), "accreditation_required");
    assert_eq!(of(&|o| o.minimum_investment = 150_001), "below_minimum");
    assert_eq!(of(&|o| o.maximum_investment = Some(149_999)), "above_maximum");
    assert_eq!(of(&|o| (o.unit_price, o.token_decimals) = (40_000, 0)), "amount_not_multiple");
    assert_eq!(of(&|o| o.hard_cap = 149_999), "hard_cap_exceeded");
    assert_eq!(of(&|o| (o.hard_cap, o.committed_total) = (1_000_000, 850_001)), "hard_cap_exceeded");
    assert_eq!(of(&|o| (o.hard_cap, o.committed_total) = (1_000_000, 850_000)), "");
}

#[test]
fn identity_country_and_accreditation_are_checked() {
    let (o, strict) = (offered(), Offering { kyc_requirement: KycRequirement::BeforeSubscribe, ..offered() });
    for (status, lax, hard) in [
        (KycStatus::Approved, "", ""),
        (KycStatus::NotStarted, "", "kyc_required"),
        (KycStatus::Suspended, "kyc_required", "kyc_required"),
    ] {
        let i = Investor { kyc_status: status, ..somebody() };
        assert_eq!(refused(&facts(Stage::Commit, &o, &i)).unwrap_or_default(), lax, "{status}");
        assert_eq!(refused(&facts(Stage::Commit, &strict, &i)).unwrap_or_default(), hard, "{status}");
    }
    for (found, lax, hard) in [
        (Screening::Clear, "", ""),
        (Screening::NotScreened, "", "sanctions_not_clear"),
        (Screening::Hit, "sanctions_not_clear", "sanctions_not_clear"),
    ] {
        let i = Investor { sanctions_status: found, ..somebody() };
        assert_eq!(refused(&facts(Stage::Commit, &o, &i)).unwrap_or_default(), lax, "{found}");
        assert_eq!(refused(&facts(Stage::Commit, &strict, &i)).unwrap_or_default(), hard, "{found}");
        assert_eq!(refused(&facts(Stage::Accept, &o, &i)).unwrap_or_default(), hard, "{found}");
    }
    let american = Investor { country: "US".to_owned(), ..somebody() };
    let offshore = Offering { exemption: Exemption::RegS, ..offered() };
    assert_eq!(refused(&facts(Stage::Commit, &offshore, &american)).unwrap(), "country_blocked");
    for nowhere in ["ZZ", "XX", "", "us"] {
        let i = Investor { country: nowhere.to_owned(), ..somebody() };
        for (stage, offering) in [(Stage::Commit, &offshore), (Stage::Commit, &o), (Stage::Accept, &o)] {
            assert_eq!(refused(&facts(stage, offering, &i)).unwrap(), "country_required", "{nowhere}");
        }
    }
    let accredited = Investor { accreditation_status: Accreditation::Verified, ..somebody() };
    let lapsed = Investor { accreditation_expires_at: Some(chrono::DateTime::UNIX_EPOCH), ..accredited.clone() };
    let closed = Offering { accreditation_required: true, ..offered() };
    assert_eq!(refused(&facts(Stage::Commit, &closed, &accredited)), None);
    assert_eq!(refused(&facts(Stage::Commit, &closed, &lapsed)).unwrap(), "accreditation_required");
}

#[test]
fn a_risk_must_be_acknowledged_if_the_exemption_requires_it() {
    let (risky, i) = (Offering { exemption: Exemption::EuEcsp, ..offered() }, somebody());
    assert_eq!(refused(&facts(Stage::Commit, &risky, &i)).unwrap(), "acknowledgement_required");
    for (said, code) in [("risk_warning", ""), ("something_else", "acknowledgement_required")] {
        let said = [said.to_owned()];
        let f = Facts { acknowledged: &said, ..facts(Stage::Commit, &risky, &i) };
        assert_eq!(refused(&f).unwrap_or_default(), code);
    }
}

#[test]
fn the_exemption_limits_investors_who_are_not_accredited() {
    let rich = Finances { annual_income: Some(3_000_000), net_worth: Some(0) };
    let i = Investor { means: rich, ..somebody() };
    let accredited = Investor { accreditation_status: Accreditation::Verified, ..somebody() };
    let said = ["risk_warning".to_owned()];
    for (exemption, used, code) in [
        (Exemption::RegCf, 100_000, ""),
        (Exemption::RegCf, 100_001, "investor_limit_exceeded"),
        (Exemption::RegAT2, 150_000, ""),
        (Exemption::RegAT2, 150_001, "investor_limit_exceeded"),
        (Exemption::Default, 900_000, ""),
    ] {
        let o = Offering { exemption, ..offered() };
        for stage in [Stage::Commit, Stage::Accept, Stage::Mint] {
            let mut f = Facts { acknowledged: &said, ..facts(stage, &o, &i) };
            f.relation.used = used;
            assert_eq!(refused(&f).unwrap_or_default(), code, "{exemption} {stage:?} {used}");
            let f = Facts { investor: &accredited, ..f };
            assert_eq!(refused(&f), None, "{exemption} {stage:?}");
        }
    }
    let private = Offering { exemption: Exemption::RegD506b, ..offered() };
    let mut f = facts(Stage::Commit, &private, &i);
    f.relation.unaccredited = 34;
    assert_eq!(refused(&f), None);
    f.relation.unaccredited = 35;
    assert_eq!(refused(&f).unwrap(), "accreditation_required");
    assert_eq!(refused(&Facts { investor: &accredited, ..f }), None);
}

#[test]
fn each_rule_of_a_mint_refuses_with_its_code() {
    let o = Offering { accreditation_required: true, blocked_countries: "FR".to_owned(), ..offered() };
    let i = Investor { accreditation_status: Accreditation::Verified, ..somebody() };
    assert_eq!(refused(&facts(Stage::Mint, &o, &i)), None);
    type Change = fn(&mut Investor);
    let changes: [(Change, &str); 4] = [
        (|i| i.country = "FR".to_owned(), "country_blocked"),
        (|i| i.kyc_status = KycStatus::Expired, "kyc_required"),
        (|i| i.sanctions_status = Screening::Hit, "sanctions_not_clear"),
        (|i| i.accreditation_expires_at = Some(chrono::DateTime::UNIX_EPOCH), "accreditation_required"),
    ];
    for (change, code) in changes {
        let mut i = i.clone();
        change(&mut i);
        assert_eq!(refused(&facts(Stage::Mint, &o, &i)).unwrap(), code);
    }
    let mut f = facts(Stage::Mint, &o, &i);
    f.relation.wallet_retired = true;
    assert_eq!(refused(&f).unwrap(), "wallet_retired");
    f.relation.wallet_verified = None;
    assert_eq!(refused(&f).unwrap(), "wallet_required");
}

#[test]
fn earlier_subscriptions_count() {
    let (once, i) = (Offering { one_subscription_per_investor: true, ..offered() }, somebody());
    let mut f = facts(Stage::Commit, &once, &i);
    f.relation.own_count = 1;
    assert_eq!(refused(&f).unwrap(), "duplicate_subscription");
    let limited = Offering { maximum_investment: Some(200_000), ..offered() };
    let mut f = facts(Stage::Commit, &limited, &i);
    f.relation.own_total = 50_000;
    assert_eq!(refused(&f), None);
    f.relation.own_total = 50_001;
    assert_eq!(refused(&f).unwrap(), "investor_limit_exceeded");
    let o = offered();
    let mut f = facts(Stage::Commit, &o, &i);
    (f.relation.holder_cap, f.relation.other_holders) = (Some(2), 1);
    assert_eq!(refused(&f), None);
    f.relation.other_holders = 2;
    assert_eq!(refused(&f).unwrap(), "holder_cap_reached");
}

#[test]
fn each_rule_of_an_acceptance_refuses_with_its_code() {
    let (o, i) = (Offering { status: Offered::Closed, ..offered() }, somebody());
    assert_eq!(refused(&facts(Stage::Accept, &o, &i)), None);
    let unknown = Investor { kyc_status: KycStatus::Pending, ..somebody() };
    assert_eq!(refused(&facts(Stage::Accept, &o, &unknown)).unwrap(), "kyc_required");
    let failed = Offering { status: Offered::Failed, ..offered() };
    assert_eq!(refused(&facts(Stage::Accept, &failed, &i)).unwrap(), "invalid_state");
    let mut f = facts(Stage::Accept, &o, &i);
    f.relation.wallet_verified = None;
    assert_eq!(refused(&f).unwrap(), "wallet_required");
    f.relation.wallet_verified = Some(false);
    assert_eq!(refused(&f).unwrap(), "wallet_unverified");
    for (held, code) in [(0, "payment_required"), (149_999, "payment_required"), (150_001, "overpaid")] {
        let f = Facts { held, ..facts(Stage::Accept, &o, &i) };
        assert_eq!(refused(&f).unwrap(), code, "{held}");
    }
}

#[test]
fn a_refusal_names_the_nearest_amounts_that_buy_whole_units() {
    for (price, decimals, step) in [(100, 2, 1), (100, 0, 100), (300, 0, 300), (300, 2, 3), (250, 1, 25), (100, 18, 1)]
    {
        assert_eq!(step_of(price, decimals), step, "{price} with {decimals} decimals");
    }
    let (o, i) = (Offering { unit_price: 30_000, token_decimals: 0, ..offered() }, somebody());
    let f = Facts { amount: 130_000, ..facts(Stage::Commit, &o, &i) };
    let Err(Error::Field { params: Some(params), .. }) = verdict(evaluate(&f)) else { panic!("it is refused") };
    assert_eq!(*params, json!({ "nearest_lower": "1200.00", "nearest_higher": "1500.00" }));
}
