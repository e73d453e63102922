//! Who may call what, written down a second time: from the specification, not from the code.

/// Method, path, who may (**I**nvestor, i**S**suer, **O**perator, **A**dmin, a**U**ditor; or `open`, `door`, `public`), the scope that a key
/// needs (a hyphen where a person alone may), and a body that is sound in form, where `{}` is not. A new route is one line.
pub const TABLE: &str = r#"
GET    /healthz                                                           open   -
GET    /readyz                                                            open   -
GET    /version                                                           open   -
GET    /openapi.json                                                      public -
GET    /docs                                                              public -
GET    /docs/page.css                                                     public -
GET    /docs/page.js                                                      public -
GET    /.well-known/jwks.json                                             open   -
POST   /v1/auth/register                                                  door   -
POST   /v1/auth/login                                                     door   -
POST   /v1/auth/mfa/verify                                                door   -
POST   /v1/auth/refresh                                                   door   -
POST   /v1/auth/password/forgot                                           door   -
POST   /v1/auth/password/reset                                            door   -
POST   /v1/auth/verify-email                                              door   -
POST   /v1/auth/verify-email/resend                                       ISOAU  -
GET    /v1/csrf-token                                                     ISOAU  -
POST   /v1/auth/logout                                                    ISOAU  -
GET    /v1/auth/me                                                        ISOAU  me:read
PATCH  /v1/auth/me                                                        ISOAU  -                   {"name":"Somebody"}
GET    /v1/auth/sessions                                                  ISOAU  -
DELETE /v1/auth/sessions                                                  ISOAU  -
DELETE /v1/auth/sessions/{id}                                             ISOAU  -
POST   /v1/auth/password/change                                           ISOAU  -
POST   /v1/auth/mfa/totp                                                  ISOAU  -                   {}
DELETE /v1/auth/mfa/totp                                                  ISOAU  -
POST   /v1/auth/mfa/totp/confirm                                          ISOAU  -
POST   /v1/auth/mfa/recovery-codes                                        ISOAU  -
POST   /v1/auth/step-up                                                   ISOAU  -                   {"password":"correct horse battery staple"}
GET    /v1/api-keys                                                       SAU    -
POST   /v1/api-keys                                                       SA     -                   {"name":"k","scopes":["me:read"]}
POST   /v1/api-keys/{id}/rotate                                           SA     -
DELETE /v1/api-keys/{id}                                                  SA     -
GET    /v1/users                                                          OAU    -
POST   /v1/users                                                          A      -
PATCH  /v1/users/{id}/roles                                               A      -                   {"roles":["investor"],"reason":"x"}
POST   /v1/users/{id}/invitation                                          A      -
POST   /v1/users/{id}/disable                                             A      -
POST   /v1/users/{id}/enable                                              A      -
POST   /v1/users/{id}/revoke-sessions                                     A      -
GET    /v1/audit-log                                                      OAU    audit:read
GET    /v1/audit-log/verify                                               OAU    audit:read
GET    /v1/offerings                                                      ISOAU  offerings:read
POST   /v1/offerings                                                      SOA    offerings:write
GET    /v1/webhooks/event-types                                           public -
GET    /v1/webhooks/endpoints                                             ISOAU  webhooks:write
POST   /v1/webhooks/endpoints                                             ISOA   webhooks:write      {"url":"https://hooks.portal.example/in","event_types":["*"]}
GET    /v1/webhooks/endpoints/{id}                                        ISOAU  webhooks:write
PATCH  /v1/webhooks/endpoints/{id}                                        ISOA   webhooks:write
DELETE /v1/webhooks/endpoints/{id}                                        ISOA   webhooks:write
POST   /v1/webhooks/endpoints/{id}/rotate-secret                          ISOA   webhooks:write
GET    /v1/events                                                         ISOAU  webhooks:write
GET    /v1/events/{id}                                                    ISOAU  webhooks:write
GET    /v1/offerings/{id}                                                 public -
PATCH  /v1/offerings/{id}                                                 SOA    offerings:write
POST   /v1/offerings/{id}/submit                                          SOA    offerings:write
POST   /v1/offerings/{id}/approve                                         OA     -
POST   /v1/offerings/{id}/request-changes                                 OA     -
POST   /v1/offerings/{id}/publish                                         SOA    offerings:write
POST   /v1/offerings/{id}/pause                                           SOA    offerings:write
POST   /v1/offerings/{id}/resume                                          SOA    offerings:write
POST   /v1/offerings/{id}/close                                           SOA    offerings:write
POST   /v1/offerings/{id}/cancel                                          SOA    -
POST   /v1/offerings/{id}/archive                                         OA     -
POST   /v1/offerings/{id}/material-change                                 SOA    offerings:write
GET    /v1/offerings/{id}/documents                                       public -
POST   /v1/offerings/{id}/documents                                       SOA    offerings:write
GET    /v1/offerings/{id}/timeline                                        SOAU   offerings:read
GET    /v1/issuers                                                        OAU    -
POST   /v1/issuers/{id}/approve                                           OA     -
GET    /v1/offerings/{id}/subscriptions                                   SOAU   offerings:read
GET    /v1/offerings/{id}/holders                                         SOAU   offerings:read
POST   /v1/offerings/{id}/subscribe                                       IO     subscriptions:write {"amount":"1000.00"}
GET    /v1/subscriptions                                                  ISOAU  subscriptions:read
GET    /v1/subscriptions/{id}                                             ISOAU  subscriptions:read
PATCH  /v1/subscriptions/{id}                                             I      subscriptions:write {"wallet_address":"0x00000000000000000000000000000000000000b1"}
POST   /v1/subscriptions/{id}/cancel                                      IOA    subscriptions:write {"reason":"x"}
POST   /v1/subscriptions/{id}/reconfirm                                   I      subscriptions:write {"offering_version":1}
POST   /v1/subscriptions/{id}/payments                                    OA     payments:write
POST   /v1/subscriptions/{id}/accept                                      SOA    payments:write
POST   /v1/subscriptions/{id}/reject                                      SOA    payments:write      {"reason_code":"identity"}
POST   /v1/subscriptions/{id}/refund                                      OA     payments:write
GET    /v1/offerings/{id}/token                                           public -
GET    /v1/offerings/{id}/token/can-transfer                              ISOAU  offerings:read
GET    /v1/offerings/{id}/token/balances/{address}                        ISOAU  offerings:read
GET    /v1/offerings/{id}/token/partitions/{partition}/restriction        public -
GET    /v1/offerings/{id}/token/frozen/{address}                          ISOAU  offerings:read
GET    /v1/investor/profile                                               I      -
PATCH  /v1/investor/profile                                               I      -
POST   /v1/investor/kyc                                                   I      -
GET    /v1/investor/wallets                                               I      -
POST   /v1/investor/wallets                                               I      -
POST   /v1/investor/wallets/{id}/verify                                   I      -                   {"signature":"0xab"}
POST   /v1/investor/wallets/{id}/default                                  I      -
DELETE /v1/investor/wallets/{id}                                          I      -
GET    /v1/investors                                                      OAU    investors:read
GET    /v1/investors/{id}                                                 OAU    investors:read
GET    /v1/investors/{id}/portfolio                                       IOAU   investors:read
POST   /v1/investors/{id}/kyc/decision                                    OA     kyc:write
POST   /v1/investors/{id}/suspend                                         OA     kyc:write
POST   /v1/investors/{id}/reinstate                                       OA     kyc:write
GET    /v1/distributions                                                  ISOAU  distributions:read
GET    /v1/distributions/{id}                                             ISOAU  distributions:read
GET    /v1/distributions/{id}/entitlements                                SOAU   distributions:read
GET    /v1/distributions/{id}/report                                      OAU    distributions:read
POST   /v1/distributions                                                  SOA    distributions:write
POST   /v1/distributions/{id}/snapshot                                    SOA    distributions:write
POST   /v1/distributions/{id}/calculate                                   SOA    distributions:write
POST   /v1/distributions/{id}/submit                                      SOA    distributions:write
POST   /v1/distributions/{id}/execute                                     OA     -
POST   /v1/distributions/{id}/cancel                                      SOA    distributions:write
POST   /v1/distributions/{id}/reclaim                                     OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/reissue                                     OA     -                   {"reason":"x"}
POST   /v1/distributions/{id}/declare-audit                               OA     distributions:write
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/hold          OA     -
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/release       OA     -
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/exclude       OA     -
POST   /v1/distributions/{id}/entitlements/{entitlement_id}/reissue       OA     -
GET    /v1/approvals                                                      OAU    ops:read
GET    /v1/approvals/{id}                                                 OAU    ops:read
POST   /v1/approvals/{id}/approve                                         OA     -
POST   /v1/approvals/{id}/reject                                          OA     -
POST   /v1/approvals/{id}/cancel                                          OA     ops:write
POST   /blockchain/deploy-token                                           OA     ops:write
POST   /blockchain/trigger-mint                                           OA     ops:write
POST   /blockchain/freeze                                                 OA     ops:freeze
POST   /blockchain/unfreeze                                               OA     -
POST   /blockchain/lock                                                   OA     -
POST   /blockchain/unlock                                                 OA     -
POST   /blockchain/restrict                                               OA     -
POST   /blockchain/unrestrict                                             OA     -
POST   /blockchain/force-transfer                                         OA     -
POST   /blockchain/recover                                                OA     -
GET    /blockchain/operations                                             OAU    ops:read
GET    /blockchain/operations/stats                                       OAU    ops:read
GET    /blockchain/operations/{id}                                        OAU    ops:read
POST   /blockchain/operations/bulk-retry                                  OA     ops:write
POST   /blockchain/operations/{id}/retry                                  OA     ops:write
POST   /blockchain/operations/{id}/reconcile                              OA     -
POST   /blockchain/operations/{id}/speed-up                               OA     ops:write
POST   /blockchain/operations/{id}/cancel                                 OA     ops:write
GET    /blockchain/signers                                                OAU    ops:read
POST   /blockchain/signers/{id}/pause                                     OA     ops:write
POST   /blockchain/signers/{id}/resume                                    OA     ops:write
GET    /blockchain/reconciliation-runs                                    OAU    ops:read
POST   /blockchain/reconciliation-runs                                    OA     ops:write
GET    /blockchain/reconciliation-runs/{id}                               OAU    ops:read
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
    /// Whether a caller of this role is let in.
    pub fn admits(&self, letter: char) -> bool {
        self.is_free() || self.who.contains(letter)
    }

    /// Whether nothing has to be shown.
    pub fn is_free(&self) -> bool {
        self.who.chars().all(|letter| letter.is_ascii_lowercase())
    }

    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        self.method == "GET"
    }

    /// The path with these ids in the place of its own.
    pub fn at(&self, id: impl Fn(&str) -> String) -> String {
        let parts: Vec<_> = self.path.split('/').collect();
        let filled = parts.iter().enumerate().map(|(at, part)| match part.strip_prefix('{') {
            Some(_) => id(parts[at - 1]),
            None => (*part).to_owned(),
        });
        filled.collect::<Vec<_>>().join("/")
    }
}

/// All of them.
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
    TABLE.lines().filter(|text| !text.trim().is_empty()).map(line).collect()
}

/// The id of nothing, of the kind that stands behind this word in a path.
pub fn missing(noun: &str) -> String {
    // What is no id of ours: an address of nobody, and a partition.
    match noun {
        "balances" | "frozen" => return format!("0x{:040x}", 0xb1),
        "partitions" => return "1".to_owned(),
        _ => {}
    }
    let prefix = match noun {
        "api-keys" => "key",
        "approvals" => "apr",
        "distributions" => "dist",
        "documents" => "doc",
        "endpoints" => "whe",
        "entitlements" => "ent",
        "events" => "evt",
        "investors" => "inv",
        "issuers" => "iss",
        "kyc" => "kyc",
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
