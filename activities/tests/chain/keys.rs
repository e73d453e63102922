//! Keys open with their password only, and sign only what the gate permitted.
use std::path::PathBuf;

use alloy::{
    consensus::{SignableTransaction, Signed, TxEip1559, transaction::RlpEcdsaDecodableTx},
    primitives::{Address, B256, U256, address, b256, keccak256},
    signers::{SignerSync, local::PrivateKeySigner},
    sol_types::SolInterface,
};
use muniment_activities::{
    chain::fees::Fees,
    config::{ChainConfig, Profile, Secret, SignerConfig},
    contract::{bindings, line::Line},
    signer::{
        Signer, SignerFault,
        policy::{PolicyGate, Refusal, Target},
        transaction::{CANCEL_GAS, Transaction},
    },
    token::{
        self,
        factory::{self, Deployment},
    },
};

const KEY: B256 = b256!("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318");
const OWNER: Address = address!("2c7536E3605D9C16a7a3D7b1898e529396a65c23");
const FACTORY: Address = Address::repeat_byte(0xfa);
const TOKEN: Address = Address::repeat_byte(0x70);
const ASSET: Address = Address::repeat_byte(0xa5);
const FEES: Fees = Fees { max_fee_per_gas: 30_000_000_000, max_priority_fee_per_gas: 1_000_000_000 };

fn keystore(path: &str, password: Option<&str>) -> SignerConfig {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/keystore");
    SignerConfig::Keystore {
        path: folder.join(path),
        password_file: password.map(|name| folder.join(name)),
        password_env: None,
    }
}

fn gate() -> PolicyGate {
    let config = ChainConfig { factory: Some(FACTORY), ..ChainConfig::default() };
    PolicyGate::of(&config).with(TOKEN, Target::Token).with(ASSET, Target::Asset)
}

fn transaction(call: muniment_activities::chain::simulate::Call) -> Transaction {
    Transaction {
        to: call.to,
        data: call.data,
        gas_limit: 1_000_000,
        ..Transaction::cancel(31337, OWNER, 7, CANCEL_GAS, FEES)
    }
}

fn deployment() -> Deployment {
    Deployment {
        offering_id: factory::offering_id("off_1"),
        symbol: "ONE".into(),
        total_cap: 10,
        partitions: Vec::new(),
    }
}

#[test]
fn a_keystore_opens_with_its_password_in_any_profile() {
    for profile in [Profile::Development, Profile::Production] {
        let signer = Signer::open(&keystore("operator", Some("password")), profile).unwrap();
        assert_eq!(signer.address(), OWNER);
        assert!(!format!("{signer:?}").contains("4c0883"));
    }
}

#[test]
fn a_keystore_that_does_not_open_is_named_with_what_to_do() {
    let text = |config| Signer::open(&config, Profile::Production).unwrap_err().to_string();
    let missing = text(keystore("nobody", Some("password")));
    assert!(missing.contains("nobody") && missing.contains("check the path"), "{missing}");
    let wrong = text(keystore("operator", Some("operator")));
    assert!(wrong.contains("operator") && wrong.contains("password"), "{wrong}");
    let unreadable = text(keystore("password", Some("password")));
    assert!(unreadable.contains("cannot be opened"), "{unreadable}");
    for config in [keystore("operator", None), keystore("operator", Some("nothing"))] {
        let none = text(config);
        assert!(none.contains("`password_file` or `password_env`"), "{none}");
    }
}

#[test]
fn a_raw_key_is_accepted_in_development_only() {
    let config = SignerConfig::Raw { private_key: Secret::new(KEY.to_string()) };
    assert_eq!(Signer::open(&config, Profile::Development).unwrap().address(), OWNER);
    assert_eq!(Signer::open(&config, Profile::Production).unwrap_err(), SignerFault::RawKeyRefused);
    let garbage = SignerConfig::Raw { private_key: Secret::new("0x12") };
    assert_eq!(Signer::open(&garbage, Profile::Development).unwrap_err(), SignerFault::RawKeyMalformed);
    assert!(!format!("{config:?}{}", serde_json::to_string(&config).unwrap()).contains("4c0883"));
}

#[tokio::test]
async fn the_signature_covers_exactly_the_permitted_transaction() {
    let signer = Signer::raw(KEY, Profile::Development).unwrap();
    let tx = transaction(factory::deploy_token(OWNER, FACTORY, &deployment()));
    let permit = gate().check(OWNER, &tx, U256::ZERO).unwrap();
    let signed = signer.sign(&permit).await.unwrap();
    assert_eq!(signed.hash, keccak256(&signed.raw));
    assert_eq!(signed, signer.sign(&permit).await.unwrap(), "the same bytes every time");
    let back: Signed<TxEip1559> = TxEip1559::eip2718_decode(&mut &signed.raw[..]).unwrap();
    assert_eq!(back.recover_signer().unwrap(), OWNER);
    assert_eq!((back.tx().nonce, back.tx().gas_limit, &back.tx().input), (7, 1_000_000, &tx.data));
    let other = Signer::raw(B256::repeat_byte(1), Profile::Development).unwrap();
    assert!(matches!(other.sign(&permit).await, Err(SignerFault::OtherSigner { .. })));
}

#[tokio::test]
async fn another_library_makes_the_same_signatures() {
    let (signer, other) =
        (Signer::raw(KEY, Profile::Development).unwrap(), PrivateKeySigner::from_bytes(&KEY).unwrap());
    let mut parities = [false; 2];
    for nonce in 0..32 {
        let tx = Transaction::cancel(31337, OWNER, nonce, CANCEL_GAS, FEES);
        let signed = signer.sign(&gate().check(OWNER, &tx, U256::ZERO).unwrap()).await.unwrap();
        let back: Signed<TxEip1559> = TxEip1559::eip2718_decode(&mut &signed.raw[..]).unwrap();
        assert_eq!(*back.signature(), other.sign_hash_sync(&back.tx().signature_hash()).unwrap());
        parities[usize::from(back.signature().v())] = true;
    }
    assert_eq!(parities, [true; 2]);
}

#[test]
fn the_gate_refuses_everything_that_is_not_on_its_list() {
    let good = transaction(factory::deploy_token(OWNER, FACTORY, &deployment()));
    let code = |tx: Transaction| gate().check(OWNER, &tx, U256::ZERO).unwrap_err().code();
    assert!(gate().check(OWNER, &good, U256::ZERO).is_ok());
    assert!(gate().check(OWNER, &Transaction::cancel(31337, OWNER, 7, CANCEL_GAS, FEES), U256::ZERO).is_ok());
    assert_eq!(code(Transaction { chain_id: 1, ..good.clone() }), "policy_chain");
    assert_eq!(code(Transaction { value: U256::from(1), ..good.clone() }), "policy_value");
    assert_eq!(code(Transaction { to: None, ..good.clone() }), "policy_creation");
    assert_eq!(code(Transaction { to: Some(Address::repeat_byte(9)), ..good.clone() }), "policy_target");
    assert_eq!(code(Transaction { to: Some(TOKEN), ..good.clone() }), "policy_selector");
    assert_eq!(code(Transaction { data: vec![1].into(), ..good.clone() }), "policy_selector");
    assert_eq!(code(Transaction { data: Default::default(), ..good.clone() }), "policy_selector");
    assert_eq!(code(Transaction { gas_limit: 16_000_001, ..good.clone() }), "policy_gas_cap");
    assert_eq!(code(Transaction { max_fee_per_gas: 301_000_000_000, ..good.clone() }), "policy_fee_cap");
    assert_eq!(code(Transaction { max_priority_fee_per_gas: u128::MAX, ..good }), "policy_fee_cap");
    let elsewhere = Transaction { to: Some(FACTORY), ..Transaction::cancel(31337, OWNER, 7, CANCEL_GAS, FEES) };
    assert_eq!(code(elsewhere), "policy_selector");
    let with_data =
        Transaction { data: vec![1, 2, 3, 4].into(), ..Transaction::cancel(31337, OWNER, 7, CANCEL_GAS, FEES) };
    assert_eq!(code(with_data), "policy_target");
}

#[test]
fn payouts_stop_at_the_daily_limit_and_allowances_are_for_our_contracts_only() {
    use alloy::sol_types::SolCall;
    use bindings::{coin::DemoCoin, token::PlatformSecurityToken7518 as Token};
    let lines = [3, 4].map(|units| Line::new(OWNER, units).unwrap().word()).to_vec();
    let page = Token::batchPayout_0Call { opId: U256::from(1), asset: ASSET, lines }.abi_encode();
    let tx =
        Transaction { to: Some(TOKEN), data: page.into(), ..Transaction::cancel(31337, OWNER, 7, CANCEL_GAS, FEES) };
    let gate = PolicyGate { payout_ceiling: Some(U256::from(10)), ..gate() };
    assert!(gate.check(OWNER, &tx, U256::from(3)).is_ok());
    assert!(matches!(gate.check(OWNER, &tx, U256::from(4)), Err(Refusal::PayoutLimit { .. })));
    assert!(matches!(gate.check(OWNER, &tx, U256::MAX), Err(Refusal::PayoutLimit { .. })));
    let cut = Transaction { data: tx.data.slice(..40), ..tx.clone() };
    assert_eq!(gate.check(OWNER, &cut, U256::ZERO).unwrap_err(), Refusal::Arguments);
    let approve = |spender| {
        let data = DemoCoin::approveCall { spender, value: U256::MAX }.abi_encode().into();
        gate.check(OWNER, &Transaction { to: Some(ASSET), data, ..tx.clone() }, U256::ZERO)
    };
    assert!(approve(TOKEN).is_ok());
    assert_eq!(approve(OWNER).unwrap_err(), Refusal::Spender(OWNER));
    assert_eq!(approve(FACTORY).unwrap_err(), Refusal::Spender(FACTORY));
}

#[test]
fn every_function_on_the_list_exists_in_its_contract() {
    type Known = fn([u8; 4]) -> bool;
    let contracts: [(Target, Known); 5] = [
        (Target::Factory, bindings::factory::TokenFactory::TokenFactoryCalls::valid_selector),
        (Target::Token, bindings::token::PlatformSecurityToken7518::PlatformSecurityToken7518Calls::valid_selector),
        (
            Target::Distributor,
            bindings::distributor::PlatformYieldDistributor::PlatformYieldDistributorCalls::valid_selector,
        ),
        (Target::Asset, bindings::coin::DemoCoin::DemoCoinCalls::valid_selector),
        (Target::Registry, bindings::registry::AgentRegistry::AgentRegistryCalls::valid_selector),
    ];
    for (target, known) in contracts {
        for signature in target.functions() {
            let hash = keccak256(signature);
            assert!(known([hash[0], hash[1], hash[2], hash[3]]), "{target:?} has no {signature}");
        }
    }
    // The form without an operation number is never signed.
    let bare = transaction(token::freeze(OWNER, TOKEN, OWNER, Default::default()));
    assert!(gate().check(OWNER, &bare, U256::ZERO).is_ok());
    let erc = [keccak256("payout(address,uint256)")[..4].to_vec(), vec![0; 64]].concat();
    let erc = Transaction { data: erc.into(), ..bare };
    assert_eq!(gate().check(OWNER, &erc, U256::ZERO).unwrap_err().code(), "policy_selector");
}
