//! Every kind of thing that has ids, with the prefix of its ids.

use super::{Id, IdKind};

macro_rules! kinds {
    ($($(#[$doc:meta])* $id:ident = $kind:ident $prefix:literal),+ $(,)?) => {
        /// The kinds. None has a value: they only tell ids apart.
        pub mod of {
            $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub enum $kind {})+
        }

        $(
            impl IdKind for of::$kind {
                const PREFIX: &'static str = $prefix;
            }

            $(#[$doc])*
            pub type $id = Id<of::$kind>;
        )+
    };
}

kinds! {
    /// A decision on an accreditation.
    AccreditationId = Accreditation "acr",
    /// A mail about an alert.
    AlertMailId = AlertMail "alm",
    /// An API key.
    ApiKeyId = ApiKey "key",
    /// An approval.
    ApprovalId = Approval "apr",
    /// An entry of the audit log.
    AuditId = Audit "aud",
    /// The operations that one act started together.
    BatchId = Batch "bat",
    /// A retry of many operations.
    BulkId = Bulk "blk",
    /// A command of an operator to the engine.
    CommandId = Command "cmd",
    /// A request of the console to the interface.
    ConsoleRequestId = ConsoleRequest "con",
    /// One attempt of a delivery.
    DeliveryAttemptId = DeliveryAttempt "att",
    /// A delivery of a webhook.
    DeliveryId = Delivery "dlv",
    /// A device that logged in before.
    DeviceId = Device "dev",
    /// A distribution.
    DistributionId = Distribution "dist",
    /// A document, of an offering or of an investor.
    DocumentId = Document "doc",
    /// A link that was mailed.
    EmailLinkId = EmailLink "lnk",
    /// An endpoint of webhooks.
    EndpointId = Endpoint "whe",
    /// An entitlement.
    EntitlementId = Entitlement "ent",
    /// An event.
    EventId = Event "evt",
    /// A process that holds leases.
    HolderId = Holder "holder",
    /// A request over HTTP.
    HttpRequestId = HttpRequest "req",
    /// An investor.
    InvestorId = Investor "inv",
    /// An issuer.
    IssuerId = Issuer "iss",
    /// An identity check.
    KycCaseId = KycCase "kyc",
    /// A decision on an identity check.
    KycDecisionId = KycDecision "kyd",
    /// A lane.
    LaneId = Lane "lan",
    /// An attempt to log in.
    LoginAttemptId = LoginAttempt "log",
    /// An offering.
    OfferingId = Offering "off",
    /// An operation.
    OperationId = Operation "op",
    /// A payment.
    PaymentId = Payment "pay",
    /// A run of the reconciliation.
    RunId = Run "rec",
    /// A secret of a webhook endpoint.
    SecretId = Secret "whs",
    /// A session.
    SessionId = Session "ses",
    /// A subscription.
    SubscriptionId = Subscription "sub",
    /// A decision on withholding tax.
    TaxRateId = TaxRate "txd",
    /// An access token.
    TokenId = Token "jti",
    /// A user.
    UserId = User "usr",
    /// A wake of an operation in the queue.
    WakeId = Wake "wake",
    /// A challenge that a wallet signs.
    WalletChallengeId = WalletChallenge "chl",
    /// A wallet.
    WalletId = Wallet "wal",
    /// A run of a worker of the queue.
    WorkerRunId = WorkerRun "run",
}
