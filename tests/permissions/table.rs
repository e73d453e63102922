//! Who may call what, written independently: from the design of roles (who) and endpoints (what), not from the code.

/// Method, path, allowed callers (**I**nvestor, i**S**suer, **O**perator, **A**dmin, a**U**ditor, with a `+` where the person must have
/// stepped up; or `open`, `door`, `public`), the scope that a key needs (a hyphen where only a person may), and a well-formed
/// body where `{}` is not. A new route is one line. A line that begins with `#` says what the design leaves open, or why the
/// platform differs.
pub const TABLE: &str = r#"
# Accounts: for callers without a token.
POST   /v1/auth/register                                                  door   -
POST   /v1/auth/login                                                     door   -
POST   /v1/auth/mfa/verify                                                door   -
POST   /v1/auth/refresh                                                   door   -
POST   /v1/auth/password/forgot                                           door   -
POST   /v1/auth/password/reset                                            door   -
POST   /v1/auth/verify-email                                              door   -
# It names nobody, so the session has to; and a change of the password asks for the old one, which is asked of somebody.
POST   /v1/auth/verify-email/resend                                       ISOAU  -
POST   /v1/auth/password/change                                           ISOAU  -

# One's own session and person: every role, no key but for reading who it acts for.
GET    /v1/csrf-token                                                     ISOAU  -
POST   /v1/auth/logout                                                    ISOAU  -
GET    /v1/auth/me                                                        ISOAU  me:read
PATCH  /v1/auth/me                                                        ISOAU  -                   {"name":"Somebody"}
# The mails that the caller gets.
GET    /v1/auth/me/alerts                                                 ISOAU  -
PUT    /v1/auth/me/alerts                                                 ISOAU  -                   {"rules":[]}
GET    /v1/auth/sessions                                                  ISOAU  -
DELETE /v1/auth/sessions                                                  ISOAU  -
DELETE /v1/auth/sessions/{id}                                             ISOAU  -
POST   /v1/auth/step-up                                                   ISOAU  -                   {"password":"correct horse battery staple"}
# A change of the second factor takes a step-up. Confirming takes the code itself.
POST   /v1/auth/mfa/totp                                                  ISOAU+ -                   {}
DELETE /v1/auth/mfa/totp                                                  ISOAU+ -
POST   /v1/auth/mfa/totp/confirm                                          ISOAU  -
POST   /v1/auth/mfa/recovery-codes                                        ISOAU+ -

# Offerings. The list needs a token unless the configuration opens it.
GET    /v1/offerings                                                      ISOAU  offerings:read
GET    /v1/offerings/{id}                                                 public -
# The papers belong to what everybody sees of an offering.
GET    /v1/offerings/{id}/documents                                       public -
POST   /v1/offerings                                                      SOA    offerings:write
PATCH  /v1/offerings/{id}                                                 SOA    offerings:write
POST   /v1/offerings/{id}/submit                                          SOA    offerings:write
POST   /v1/offerings/{id}/documents                                       SOA    offerings:write     {"kind":"terms","title":"Terms","sha256":"abababababababababababababababababababababababababababababababab","url":"https://papers.example/1"}
POST   /v1/offerings/{id}/approve                                         OA     -
POST   /v1/offerings/{id}/request-changes                                 OA     -                   {"comment":"x"}
POST   /v1/offerings/{id}/publish                                         SOA    offerings:write
POST   /v1/offerings/{id}/pause                                           SOA    offerings:write     {"reason":"x"}
POST   /v1/offerings/{id}/resume                                          SOA    offerings:write
POST   /v1/offerings/{id}/reopen                                          SOA    offerings:write
POST   /v1/offerings/{id}/close                                           SOA    offerings:write
POST   /v1/offerings/{id}/material-change                                 SOA    offerings:write     {"reason":"x","changes":{"description":"y"}}
# Two people, once somebody has subscribed: no key.
POST   /v1/offerings/{id}/cancel                                          SOA    -                   {"reason":"x"}
# The matrix names the organisation, the table of moves the operator alone: the narrower one holds.
POST   /v1/offerings/{id}/archive                                         OA     offerings:write
GET    /v1/offerings/{id}/subscriptions                                   SOAU   offerings:read
GET    /v1/offerings/{id}/holders                                         SOAU   offerings:read
GET    /v1/offerings/{id}/timeline                                        SOAU   offerings:read
# An organisation is pending until an operator lets it offer. Who it is, is for staff: an issuer sees no other one.
GET    /v1/issuers                                                        OAU    -
POST   /v1/issuers/{id}/approve                                           OA     -
POST   /v1/issuers/{id}/suspend                                           OA     -                   {"reason":"x"}
POST   /v1/issuers/{id}/reinstate                                         OA     -                   {"reason":"x"}
# Its own people see it and each other, invite, and take out.
GET    /v1/issuers/{id}                                                   SOAU   -
GET    /v1/issuers/{id}/members                                           SOAU   -
# Not for operators, who could ask as the new member for what they approve. Admins help an issuer whose members left.
POST   /v1/issuers/{id}/members                                           SA+    -                   {"email":"new@people.example","name":"New"}
DELETE /v1/issuers/{id}/members/{user_id}                                 SOA+   -

# What a token says: its facts to everybody, holders to themselves, to the organisation and to staff.
GET    /v1/offerings/{id}/token                                           public -
GET    /v1/offerings/{id}/token/partitions/{partition}/restriction        public -
GET    /v1/offerings/{id}/token/can-transfer                              ISOAU  offerings:read
GET    /v1/offerings/{id}/token/balances/{address}                        ISOAU  offerings:read
GET    /v1/offerings/{id}/token/frozen/{address}                          ISOAU  offerings:read

# Subscriptions. An admin subscribes for nobody; an operator does, with the investor's consent.
POST   /v1/offerings/{id}/subscribe                                       IO     subscriptions:write {"amount":"1000.00"}
GET    /v1/subscriptions                                                  ISOAU  subscriptions:read
GET    /v1/subscriptions/{id}                                             ISOAU  subscriptions:read
POST   /v1/subscriptions/{id}/cancel                                      IOA    subscriptions:write {"reason":"x"}
# Of these staff does none for an investor: what they say is the investor's own will.
POST   /v1/subscriptions/{id}/reconfirm                                   I      subscriptions:write {"offering_version":1}
PATCH  /v1/subscriptions/{id}                                             I      subscriptions:write {"wallet_address":"0x00000000000000000000000000000000000000b1"}
GET    /v1/subscriptions/{id}/payments                                    ISOAU  subscriptions:read
POST   /v1/subscriptions/{id}/payments                                    OA     payments:write      {"type":"received","amount":"1.00","method":"bank_transfer","external_reference":"r"}
POST   /v1/subscriptions/{id}/accept                                      SOA    payments:write
POST   /v1/subscriptions/{id}/reject                                      SOA    payments:write      {"reason_code":"identity"}
POST   /v1/subscriptions/{id}/refund                                      OA     payments:write      {"method":"bank_transfer","external_reference":"r"}

# Investors: their own, by no key; of others, what staff needs.
GET    /v1/investor/profile                                               I      -
PATCH  /v1/investor/profile                                               I      -
GET    /v1/investor/export                                                I      -
POST   /v1/investor/kyc                                                   I      -
GET    /v1/investor/wallets                                               I      -
POST   /v1/investor/wallets                                               I      -
POST   /v1/investor/wallets/{id}/verify                                   I      -                   {"signature":"0xab"}
POST   /v1/investor/wallets/{id}/default                                  I      -
DELETE /v1/investor/wallets/{id}                                          I      -
GET    /v1/investors                                                      OAU    investors:read
GET    /v1/investors/{id}                                                 OAU    investors:read
GET    /v1/investors/{id}/portfolio                                       IOAU   investors:read
# The provider of identity checks calls these; a reinstatement it only asks for, a second person allows it.
GET    /v1/investors/{id}/kyc                                             OA+    -
POST   /v1/investors/{id}/kyc/decision                                    OA     kyc:write           {"decision":"start_review"}
POST   /v1/investors/{id}/accreditation                                   OA     kyc:write           {"status":"none","basis":"b","evidence_sha256":"abababababababababababababababababababababababababababababababab"}
POST   /v1/investors/{id}/tax                                             OA     -                   {"withholding_rate":"0.00","basis":"b","evidence_sha256":"abababababababababababababababababababababababababababababababab"}
GET    /v1/investors/{id}/documents                                       OAU    investors:read
POST   /v1/investors/{id}/documents                                       OA     -                   {"kind":"other","sha256":"abababababababababababababababababababababababababababababababab"}
POST   /v1/investors/{id}/suspend                                         OA     kyc:write           {"reason_code":"operator"}
POST   /v1/investors/{id}/reinstate                                       OA     kyc:write           {"reason":"x","evidence_sha256":"abababababababababababababababababababababababababababababababab"}
# It cannot be undone: the requester steps up, and a second person decides.
POST   /v1/investors/{id}/erase                                           OA+    -                   {"reason":"x"}

# Distributions: an organisation writes its own. The report names every holder with what was paid to him: for staff.
GET    /v1/distributions                                                  ISOAU  distributions:read
GET    /v1/distributions/{id}                                             ISOAU  distributions:read
GET    /v1/distributions/{id}/entitlements                                SOAU   distributions:read
GET    /v1/distributions/{id}/report                                      OAU    distributions:read
POST   /v1/distributions                                                  SOA    distributions:write
POST   /v1/distributions/{id}/snapshot                                    SOA    distributions:write
POST   /v1/distributions/{id}/calculate                                   SOA    distributions:write
POST   /v1/distributions/{id}/submit                                      SOA    distributions:write
POST   /v1/distributions/{id}/cancel                                      SOA    distributions:write {"reason":"x"}
# An operation of the platform's own key, which moves no money: who writes distributions asks for it.
POST   /v1/distributions/{id}/declare-audit                               OA     distributions:write {"report_sha256":"abababababababababababababababababababababababababababababababab"}
POST   /v1/distributions/{id}/execute                                     OA     -
POST   /v1/distributions/{id}/reclaim                                     OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/reissue                                     OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/claim-withheld                              OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/hold          OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/release       OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/exclude       OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/reissue       OA     -                   {"reason":"x"}

# Operations on a chain.
POST   /blockchain/deploy-token                                           OA     ops:write
POST   /blockchain/trigger-mint                                           OA     ops:write
GET    /v1/offerings/{id}/mint-preview                                    OAU    ops:read
POST   /blockchain/freeze                                                 OA     ops:freeze
POST   /blockchain/unfreeze                                               OA     -
POST   /blockchain/lock                                                   OA     -
POST   /blockchain/unlock                                                 OA     -
POST   /blockchain/restrict                                               OA     -
POST   /blockchain/unrestrict                                             OA     -
POST   /blockchain/release-lock                                           OA     -
POST   /blockchain/pause                                                  OA     -
POST   /blockchain/unpause                                                OA     -
# Both people show again who they are.
POST   /blockchain/force-transfer                                         OA+    -
POST   /blockchain/recover                                                OA+    -
POST   /blockchain/redeem                                                 OA+    -
POST   /blockchain/reinstate                                              OA+    -
GET    /blockchain/operations                                             OAU    ops:read
GET    /blockchain/operations/stats                                       OAU    ops:read
GET    /blockchain/operations/{id}                                        OAU    ops:read
GET    /blockchain/operations/{id}/proof                                  OAU    ops:read
POST   /blockchain/operations/bulk-retry                                  OA     ops:write
POST   /blockchain/operations/{id}/retry                                  OA     ops:write           {"reason":"x"}
POST   /blockchain/operations/{id}/speed-up                               OA     ops:write
POST   /blockchain/operations/{id}/cancel                                 OA     ops:write           {"mode":"unsent","reason":"x"}
POST   /blockchain/operations/{id}/reconcile                              OA     -                   {"resolution":"retry","reason":"x"}
# What was final is taken back: two admins.
POST   /blockchain/chains/{chain_id}/accept-history                       A+     -                   {"reason":"x"}
GET    /blockchain/chains                                                     OAU    ops:read
GET    /blockchain/operations/series                                          OAU    ops:read
GET    /blockchain/signers                                                OAU    ops:read
GET    /blockchain/queue                                                  OAU    ops:read
GET    /blockchain/signers/{id}/nonces                                    OAU    ops:read
# Stopping a lane, or comparing the books, moves nothing: who starts operations may.
POST   /blockchain/signers/{id}/pause                                     OA     ops:write           {"reason":"x"}
POST   /blockchain/signers/{id}/resume                                    OA     ops:write           {"reason":"x"}
# What a restored database forgot: a person, who shows again who they are.
GET    /blockchain/signers/{id}/unknown-calls                             OAU    ops:read
POST   /blockchain/signers/{id}/import-calls                              OA+    -                   {"reason":"x"}
GET    /blockchain/reconciliation-runs                                    OAU    ops:read
GET    /blockchain/reconciliation-runs/{id}                               OAU    ops:read
POST   /blockchain/reconciliation-runs                                    OA     ops:write

# The second person. Issuers see what they asked for themselves; a key sees nothing and says nothing.
GET    /v1/approvals                                                      SOAU   -
GET    /v1/approvals/{id}                                                 SOAU   -
GET    /v1/approvals/{id}/simulation                                      OAU    -
POST   /v1/approvals/{id}/approve                                         OA+    -                   {"payload_sha256":"abababababababababababababababababababababababababababababababab"}
# Its requester collects what was approved; for a key of the platform that is an admin.
POST   /v1/approvals/{id}/api-key                                         A+     -
POST   /v1/approvals/{id}/reject                                          OA     -                   {"comment":"x"}
# Its requester cancels it, in any role.
POST   /v1/approvals/{id}/cancel                                          SOA    -

# Only in the development profile.
POST   /v1/test-clock/advance                                             OA     -                   {"advance_seconds":0}

# Networks, webhooks and events. The catalogs are public.
GET    /v1/networks                                                       public -
GET    /v1/webhooks/event-types                                           public -
GET    /v1/webhooks/endpoints                                             ISOAU  webhooks:write
POST   /v1/webhooks/endpoints                                             ISOA   webhooks:write      {"url":"https://hooks.portal.example/in","event_types":["*"]}
GET    /v1/webhooks/endpoints/{id}                                        ISOAU  webhooks:write
PATCH  /v1/webhooks/endpoints/{id}                                        ISOA   webhooks:write
DELETE /v1/webhooks/endpoints/{id}                                        ISOA   webhooks:write
POST   /v1/webhooks/endpoints/{id}/rotate-secret                          ISOA   webhooks:write
POST   /v1/webhooks/endpoints/{id}/test                                   ISOA   webhooks:write
POST   /v1/webhooks/endpoints/{id}/recover                                ISOA   webhooks:write      {"since":"2026-11-01T00:00:00Z"}
POST   /v1/webhooks/endpoints/{id}/redeliver-failed                       ISOA   webhooks:write
GET    /v1/webhooks/endpoints/{id}/deliveries                             ISOAU  webhooks:write
GET    /v1/webhooks/deliveries/{id}                                       ISOAU  webhooks:write
POST   /v1/webhooks/deliveries/{id}/redeliver                             ISOA   webhooks:write
GET    /v1/events                                                         ISOAU  webhooks:write
GET    /v1/events/{id}                                                    ISOAU  webhooks:write

# Keys. Each acts for the person who made it, and nobody gets the secret of a colleague's. An admin's takes another admin.
GET    /v1/api-keys                                                       SAU    -
POST   /v1/api-keys                                                       SA+    -                   {"name":"k","scopes":["me:read"]}
POST   /v1/api-keys/{id}/rotate                                           SA+    -
DELETE /v1/api-keys/{id}                                                  SA     -

# Users. Who joins the staff, and as what, takes two admins who have just shown again who they are.
GET    /v1/users                                                          OAU    -
GET    /v1/users/{id}                                                     OAU    -
POST   /v1/users                                                          A+     -
PATCH  /v1/users/{id}/roles                                               A+     -                   {"roles":["investor"],"reason":"x"}
POST   /v1/users/{id}/invitation                                          A+     -
POST   /v1/users/{id}/disable                                             A+     -
POST   /v1/users/{id}/enable                                              A+     -
POST   /v1/users/{id}/revoke-sessions                                     A+     -

# The limits of the platform: two admins change them.
GET    /v1/policies                                                       OAU    -
PUT    /v1/policies                                                       A+     -                   {"limits":{"mint_dual_control_threshold":"1.00","payout_dual_control_threshold":"1.00","mint_platform_dual_control_threshold":"1.00","payout_platform_dual_control_threshold":"1.00","means_raise_days":1,"payout_dust_threshold":"1.00","payment_due_days":1,"approval_hours":25,"kyc_months":1,"kyc_months_at_high_risk":1,"issuer_invitations_per_day":1,"unpaid_investor_percent":1,"unverified_investor_percent":1,"unverified_total_percent":1,"unverified_hours":1},"reason":"x"}

# Reports are of everybody: for staff, and for a program that audits.
GET    /v1/reports/cap-table                                              OAU    audit:read
GET    /v1/reports/distributions                                          OAU    audit:read
GET    /v1/reports/transactions                                           OAU    audit:read
GET    /v1/reports/tax                                                    OAU    audit:read

# The platform itself.
GET    /v1/audit-log                                                      OAU    audit:read
GET    /v1/audit-log/verify                                               OAU    audit:read
GET    /v1/audit-log/{line}/proof                                         OAU    audit:read
GET    /healthz                                                           open   -
GET    /readyz                                                            open   -
GET    /version                                                           open   -
GET    /.well-known/jwks.json                                             open   -
# What describes the interface is limited for each address, because it is large.
GET    /openapi.json                                                      public -
GET    /errors                                                            public -
GET    /errors/{code}                                                     public -
GET    /docs                                                              public -
GET    /docs/page.css                                                     public -
GET    /docs/page.js                                                      public -
"#;

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub method: &'static str,
    pub path: &'static str,
    pub who: &'static str,
    pub scope: &'static str,
    pub body: &'static str,
}

impl Line {
    /// Whether a caller of this role is accepted.
    pub fn admits(&self, letter: char) -> bool {
        self.is_free() || self.who.contains(letter)
    }

    /// Whether the route needs no credentials.
    pub fn is_free(&self) -> bool {
        self.who.chars().all(|letter| letter.is_ascii_lowercase())
    }

    /// Whether the person must have stepped up.
    pub fn needs_step_up(&self) -> bool {
        self.who.ends_with('+')
    }

    /// Whether the route changes nothing.
    pub fn is_read(&self) -> bool {
        self.method == "GET"
    }

    /// Whether the path names an object. An error code belongs to nobody.
    pub fn is_of_something(&self) -> bool {
        self.path.contains('{') && !self.path.starts_with("/errors/")
    }

    /// The segment before each id of the path.
    pub fn nouns(&self) -> Vec<&'static str> {
        let parts: Vec<_> = self.path.split('/').collect();
        (1..parts.len()).filter(|at| parts[*at].starts_with('{')).map(|at| parts[at - 1]).collect()
    }

    /// The path with these ids as parameters.
    pub fn at(&self, id: impl Fn(&str) -> String) -> String {
        let parts: Vec<_> = self.path.split('/').collect();
        let filled = parts.iter().enumerate().map(|(at, part)| match part.strip_prefix('{') {
            Some(_) => id(parts[at - 1]),
            None => (*part).to_owned(),
        });
        filled.collect::<Vec<_>>().join("/")
    }
}

/// All lines.
pub fn lines() -> Vec<Line> {
    let line = |text: &'static str| {
        let mut rest = text.trim();
        let mut word = || {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = behind.trim_start();
            word
        };
        let (method, path, who, scope) = (word(), word(), word(), word());
        Line { method, path, who, scope, body: if rest.is_empty() { "{}" } else { rest } }
    };
    TABLE.lines().filter(|text| !text.trim().is_empty() && !text.starts_with('#')).map(line).collect()
}

/// An unknown id of the kind of this path segment.
pub fn missing(noun: &str) -> String {
    // Parameters that are not ids: an address, a partition, an error code, the number of a chain.
    match noun {
        "balances" | "frozen" | "can-transfer" => return format!("0x{:040x}", 0xb1),
        "partitions" => return "1".to_owned(),
        "errors" => return "no_such_code".to_owned(),
        "chains" => return "4242424242".to_owned(),
        _ => {}
    }
    let prefix = match noun {
        "api-keys" => "key",
        "approvals" => "apr",
        "audit-log" => "aud",
        "deliveries" => "dlv",
        "distributions" => "dist",
        "documents" => "doc",
        "endpoints" => "whe",
        "entitlements" => "ent",
        "events" => "evt",
        "investors" => "inv",
        "issuers" => "iss",
        "kyc" => "kyc",
        "members" => "usr",
        "offerings" => "off",
        "operations" => "op",
        "reconciliation-runs" => "rec",
        "sessions" => "ses",
        "signers" => "lan",
        "subscriptions" => "sub",
        "users" => "usr",
        "wallets" => "wal",
        other => panic!("say here what the ids of {other} begin with"),
    };
    format!("{prefix}_01jc0000000000000000000000")
}
