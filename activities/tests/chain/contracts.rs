//! The platform's contracts on anvil: calls, effects and revert reasons.
use std::time::Duration;

use alloy::primitives::{Address, B256, U256};
use muniment_activities::{
    chain::{
        Tag,
        gas::{GasModel, page_holders_max},
        send::SendResult,
        simulate::{At, Call, Simulation},
    },
    config::Profile,
    contract::{
        line::Line,
        operation::{executed_effect, find_execution, highest_operation_number, is_operation_executed, payload_hash},
        registry::{self, Roles},
    },
    fault::{Fault, FaultClass},
    platform::{Platform, PlatformFault},
    rpc::classify::SendClass,
    signer::Signer,
    token::{
        self,
        factory::{self, Deployment, PartitionTerms},
        mint::{MintPage, mint_effect},
    },
};

use crate::anvil::{Anvil, fund, start};

/// The year 2100.
const FAR_AHEAD: u64 = 2_366_841_600;

fn offering(text: &str) -> Deployment {
    let terms = PartitionTerms { cap: 1_000_000, restricted: false, rule144: false };
    Deployment {
        offering_id: factory::offering_id(text),
        symbol: "TOWER".into(),
        total_cap: 1_500_000,
        partitions: vec![terms; 2],
    }
}

fn holder(number: u64) -> Address {
    Address::left_padding_from(&(0x1000 + number).to_be_bytes())
}

fn page(op_id: u64, holders: u64, release_at: u64) -> MintPage {
    let lines = (0..holders).map(|number| Line::new(holder(number), 10 + u128::from(number)).unwrap()).collect();
    MintPage { op_id, partition: 1, release_at, lines }
}

async fn revert(anvil: &Anvil, call: &Call) -> muniment_activities::revert::Revert {
    match anvil.chain.simulate(call, At::Latest).await.unwrap() {
        Simulation::Reverts(revert) => revert,
        Simulation::Gas(gas) => panic!("executed with {gas} gas"),
    }
}

async fn deployed(anvil: &Anvil, text: &str) -> Address {
    let receipt =
        anvil.execute(&factory::deploy_token(anvil.operator.address(), anvil.platform.factory, &offering(text))).await;
    factory::deploy_effect(&receipt, anvil.platform.factory, &offering(text)).unwrap()
}

#[tokio::test]
async fn the_platform_is_deployed_once_and_found_again() {
    let anvil = Anvil::with_platform().await;
    let (chain, platform, operator) = (&anvil.chain, anvil.platform, anvil.operator.address());
    let nonce = chain.transaction_count(anvil.deployer.address(), Tag::Latest).await.unwrap();
    let again = Platform::deploy(chain, &anvil.deployer, &[(operator, Roles::ALL)]).await.unwrap();
    assert_eq!(
        (again, chain.transaction_count(anvil.deployer.address(), Tag::Latest).await.unwrap()),
        (platform, nonce)
    );
    assert_eq!(registry::roles_of(chain, platform.registry, operator, At::Latest).await.unwrap(), Roles::ALL);
    assert!(!registry::is_agent(chain, platform.registry, holder(1), At::Latest).await.unwrap());
    assert_eq!(registry::owner(chain, platform.registry).await.unwrap(), anvil.deployer.address());
    assert_eq!(factory::implementation(chain, platform.factory).await.unwrap(), platform.implementation);
    assert_eq!(factory::registry(chain, platform.factory).await.unwrap(), platform.registry);
    // A key with other transactions would deploy the contracts to other addresses.
    deployed(&anvil, "off_used").await;
    let used = Platform::deploy(chain, &anvil.operator, &[]).await;
    assert!(matches!(used, Err(PlatformFault::KeyUsedElsewhere { nonce: 0, .. })), "{used:?}");
}

#[tokio::test]
async fn an_interrupted_deployment_is_completed_by_the_next_one() {
    let (chain, _process) = start(&[]).await;
    let deployer = Signer::raw(B256::repeat_byte(5), Profile::Development).unwrap();
    fund(&chain, deployer.address()).await;
    let agents = [(holder(1), Roles::ISSUER | Roles::PAYOUT), (holder(2), Roles::CUSTODY)];
    let mut interruptions = 0;
    let platform = loop {
        let attempt = Platform::deploy(&chain, &deployer, &agents);
        match tokio::time::timeout(Duration::from_millis(12 + interruptions), attempt).await {
            Ok(Ok(platform)) => break platform,
            Ok(Err(fault)) => eprintln!("met and survived: {fault}"),
            Err(_) => interruptions += 1,
        }
        assert!(interruptions < 500);
    };
    assert!(interruptions > 0, "it was never interrupted");
    assert_eq!(platform, Platform::of(deployer.address()));
    assert_eq!(registry::roles_of(&chain, platform.registry, holder(1), At::Latest).await.unwrap(), agents[0].1);
    assert_eq!(factory::implementation(&chain, platform.factory).await.unwrap(), platform.implementation);
}

#[tokio::test]
async fn custody_calls_carry_their_operation_number() {
    let anvil = Anvil::with_platform().await;
    let operator = anvil.operator.address();
    let contract = deployed(&anvil, "off_c").await;
    anvil.execute(&token::mint_page(operator, contract, &page(1, 3, 0))).await;
    let line = |number, units| Line::new(holder(number), units).unwrap();
    let lock = token::lock(operator, contract, 2, 1, FAR_AHEAD, line(1, 4));
    executed_effect(&anvil.execute(&lock).await, contract, 2, &lock.data).unwrap();
    anvil.execute(&token::freeze(operator, contract, holder(0), Default::default())).await;
    let forced = token::force_transfer(operator, contract, 3, 1, holder(0), line(1, 6), &[7; 32]);
    executed_effect(&anvil.execute(&forced).await, contract, 3, &forced.data).unwrap();
    let recovered = token::recover(operator, contract, holder(1), holder(9), 4);
    let receipt = anvil.execute(&recovered).await;
    executed_effect(&receipt, contract, 4, &recovered.data).unwrap();
    assert_eq!(token::balance_of(&anvil.chain, contract, holder(9), 1, At::Latest).await.unwrap(), U256::from(17));
    assert_eq!(
        token::locked_balance_of(&anvil.chain, contract, holder(9), 1, At::Latest).await.unwrap(),
        U256::from(4)
    );
    // Each lost wallet has numbers of its own: only another recovery of the same wallet has used its number up.
    let elsewhere = token::recover(operator, contract, holder(2), holder(8), 4);
    let find = async |call: &Call| find_execution(&anvil.chain, contract, &call.data, 4, 0).await.unwrap();
    assert_eq!(find(&elsewhere).await, None);
    let second = anvil.execute(&elsewhere).await;
    assert_eq!(find(&elsewhere).await.unwrap().event.tx_hash, second.tx_hash);
    let conflict = find(&token::recover(operator, contract, holder(2), holder(7), 4)).await.unwrap();
    assert_eq!((conflict.event.tx_hash, conflict.payload_hash), (second.tx_hash, payload_hash(&elsewhere.data)));
    assert_eq!(find(&recovered).await.unwrap().event.tx_hash, receipt.tx_hash);
    assert_eq!(find(&forced).await, None, "its kind has numbers of its own");
    // A document instead of a number: the contract takes its first word for one.
    let documented = token::force_transfer(operator, contract, 0, 1, holder(0), line(9, 1), &[]);
    let text = [&documented.data[..196], b"Judgment of 3 May, court of Riga"].concat();
    anvil.execute(&Call { data: text.into(), ..documented }).await;
    assert_eq!(highest_operation_number(&anvil.chain, contract, 0).await.unwrap(), 4);
}

#[tokio::test]
async fn a_token_is_deployed_at_its_predicted_address_and_only_with_the_same_terms() {
    let anvil = Anvil::with_platform().await;
    let (chain, operator, at) = (&anvil.chain, anvil.operator.address(), anvil.platform.factory);
    let (id, call) = (factory::offering_id("off_a"), factory::deploy_token(operator, at, &offering("off_a")));
    let predicted = factory::predict_token(at, anvil.platform.implementation, id);
    assert_eq!(factory::token_of(chain, at, id, At::Latest).await.unwrap(), None);
    let receipt = anvil.execute(&call).await;
    assert_eq!(factory::deploy_effect(&receipt, at, &offering("off_a")).unwrap(), predicted);
    assert_eq!(
        factory::token_of(chain, at, id, At::Latest).await.unwrap(),
        Some((predicted, payload_hash(&call.data)))
    );
    assert_eq!(token::offering_id(chain, predicted, At::Latest).await.unwrap(), id);
    assert_eq!(token::symbol(chain, predicted, At::Latest).await.unwrap(), "TOWER");
    assert_eq!(token::partition_count(chain, predicted, At::Latest).await.unwrap(), 2);
    assert_eq!(token::partition(chain, predicted, 2, At::Latest).await.unwrap().cap, U256::from(1_000_000));
    // A repeated deployment changes nothing and still shows its effect.
    let again = anvil.execute(&call).await;
    assert_eq!(factory::deploy_effect(&again, at, &offering("off_a")).unwrap(), predicted);
    let other = Deployment { symbol: "OTHER".into(), ..offering("off_a") };
    assert!(factory::deploy_effect(&receipt, at, &other).is_err());
    assert!(factory::deploy_effect(&receipt, at, &offering("off_b")).is_err());
    let refused = revert(&anvil, &factory::deploy_token(operator, at, &other)).await;
    assert_eq!(refused.name, "OfferingParamsDiffer");
    assert!(refused.sentence.contains("was deployed with other parameters"), "{}", refused.sentence);
}

#[tokio::test]
async fn a_page_mints_and_locks_every_line_exactly_once() {
    let anvil = Anvil::with_platform().await;
    let (chain, operator) = (&anvil.chain, anvil.operator.address());
    let contract = deployed(&anvil, "off_m").await;
    let locked = page(1, 5, FAR_AHEAD);
    let call = token::mint_page(operator, contract, &locked);
    let receipt = anvil.execute(&call).await;
    mint_effect(&receipt, contract, &locked).unwrap();
    executed_effect(&receipt, contract, 1, &call.data).unwrap();
    assert_eq!(token::balance_of(chain, contract, holder(4), 1, At::Latest).await.unwrap(), U256::from(14));
    assert_eq!(token::locked_balance_of(chain, contract, holder(4), 1, At::Latest).await.unwrap(), U256::from(14));
    assert_eq!(token::transferable_balance(chain, contract, holder(4), 1, At::Latest).await.unwrap(), U256::ZERO);
    assert!(token::is_whitelisted(chain, contract, holder(4), 1, At::Latest).await.unwrap());
    // A different page, operation number or contract does not match.
    for other in [page(2, 5, FAR_AHEAD), page(1, 4, FAR_AHEAD), page(1, 5, 0)] {
        assert!(mint_effect(&receipt, contract, &other).is_err());
    }
    assert!(mint_effect(&receipt, holder(1), &locked).is_err());
    // Without any one of these events the effect is missing.
    for index in 0..receipt.logs.len() {
        let mut lacking = receipt.clone();
        let log = lacking.logs.remove(index);
        assert!(mint_effect(&lacking, contract, &locked).is_err(), "{log:?}");
        let mut foreign = receipt.clone();
        foreign.logs[index].address = holder(1);
        assert!(mint_effect(&foreign, contract, &locked).is_err(), "{log:?}");
    }
    // A holder on two lines gets both, and the effect adds them up.
    let twice = MintPage { op_id: 2, lines: [locked.lines.clone(), locked.lines.clone()].concat(), ..locked.clone() };
    mint_effect(&anvil.execute(&token::mint_page(operator, contract, &twice)).await, contract, &twice).unwrap();
    // The contract refuses the operation number, even with a new nonce.
    let replayed = revert(&anvil, &call).await;
    assert_eq!(replayed.replayed_operation(), Some(U256::from(1)));
    let forced = anvil.execute_with(&call, 500_000).await;
    assert!(!forced.success && mint_effect(&forced, contract, &locked).is_err());
    let found = find_execution(chain, contract, &call.data, 1, 0).await.unwrap().unwrap();
    assert_eq!(
        (found.event.tx_hash, found.event.block_hash, found.payload_hash),
        (receipt.tx_hash, receipt.block_hash, payload_hash(&call.data))
    );
    assert_eq!(find_execution(chain, contract, &call.data, 3, 0).await.unwrap(), None);
    assert_eq!(highest_operation_number(chain, contract, 0).await.unwrap(), 2);
    assert!(is_operation_executed(chain, contract, &call.data, 2, At::Latest).await.unwrap());
    assert!(!is_operation_executed(chain, contract, &call.data, 2, At::Hash(receipt.block_hash)).await.unwrap());
    // A number belongs to its kind: a lock under the same number is another operation.
    let lock = token::lock(operator, contract, 2, 1, FAR_AHEAD, Line::new(holder(1), 1).unwrap());
    assert!(!is_operation_executed(chain, contract, &lock.data, 2, At::Latest).await.unwrap());
}

#[tokio::test]
async fn a_revert_is_explained_in_a_sentence() {
    let anvil = Anvil::with_platform().await;
    let operator = anvil.operator.address();
    let contract = deployed(&anvil, "off_r").await;
    let stranger = revert(&anvil, &token::mint_page(holder(7), contract, &page(1, 1, 0))).await;
    assert_eq!(stranger.name, "NotAuthorized");
    assert!(stranger.sentence.contains("the role issuer"), "{}", stranger.sentence);
    let above = MintPage { lines: vec![Line::new(holder(1), 1_000_001).unwrap()], ..page(1, 0, 0) };
    let above = revert(&anvil, &token::mint_page(operator, contract, &above)).await;
    assert_eq!(above.operands[1], ("cap".to_owned(), "1000000".to_owned()));
    anvil.execute(&token::freeze(operator, contract, holder(2), Default::default())).await;
    assert!(token::is_frozen(&anvil.chain, contract, holder(2), At::Latest).await.unwrap());
    let frozen = revert(&anvil, &token::mint_page(operator, contract, &page(1, 3, 0))).await;
    assert_eq!((frozen.name.as_str(), frozen.operands[0].1.clone()), ("AddressIsFrozen", holder(2).to_string()));
    let nowhere = anvil
        .chain
        .call(&token::freeze(operator, contract, holder(2), Default::default()), At::Hash(B256::repeat_byte(7)))
        .await;
    assert!(matches!(&nowhere, Err(fault) if fault.class() == FaultClass::Transient), "{nowhere:?}");
    let no_contract = token::symbol(&anvil.chain, holder(3), At::Latest).await.unwrap_err();
    assert!(no_contract.to_string().contains("is not the expected contract"), "{no_contract}");
}

#[tokio::test]
async fn a_dependent_step_is_simulated_at_the_block_it_depends_on() {
    let anvil = Anvil::with_platform().await;
    let operator = anvil.operator.address();
    let before = anvil.chain.heads().await.unwrap().latest;
    let contract = deployed(&anvil, "off_d").await;
    let after = anvil.chain.heads().await.unwrap().latest;
    let call = token::mint_page(operator, contract, &page(1, 2, 0));
    assert!(
        matches!(anvil.chain.simulate(&call, At::Hash(after.hash)).await.unwrap(), Simulation::Gas(gas) if gas > 50_000)
    );
    // Before its deployment the token has no code, so the call does nothing: the estimate shows it.
    assert!(
        matches!(anvil.chain.simulate(&call, At::Hash(before.hash)).await.unwrap(), Simulation::Gas(gas) if gas < 50_000)
    );
    let unknown = anvil.chain.simulate(&call, At::Hash(B256::repeat_byte(3))).await.unwrap_err();
    assert_eq!(unknown, Fault::UnknownBlock);
}

#[tokio::test]
async fn the_gas_model_of_pages_covers_the_gas_that_pages_use() {
    let anvil = Anvil::with_platform().await;
    let contract = deployed(&anvil, "off_g").await;
    let GasModel { base, per_holder } = GasModel::MINT_PAGE;
    for holders in [1, 100, 250] {
        let taken =
            anvil.gas(&token::mint_page(anvil.operator.address(), contract, &page(1, holders, FAR_AHEAD))).await;
        let modelled = base + per_holder * holders;
        println!("{holders} holders: {taken} gas, {} each; the model says {modelled}", taken / holders);
        assert!(
            taken <= modelled && modelled < taken * 3 / 2 + base,
            "{holders} holders: {taken} gas, the model says {modelled}"
        );
    }
    assert!(page_holders_max(GasModel::MINT_PAGE, anvil.chain.config.gas_cap) >= 200);
}

#[tokio::test]
async fn refusals_of_anvil_have_the_right_class() {
    let anvil = Anvil::with_platform().await;
    let call = factory::deploy_token(anvil.operator.address(), anvil.platform.factory, &offering("off_s"));
    let gas = anvil.gas(&call).await * 2;
    anvil.execute_with(&call, gas).await;
    let class = |sent: Vec<SendResult>| match sent.into_iter().next() {
        Some(SendResult::Refused(refusal)) => refusal.class,
        other => panic!("{other:?}"),
    };
    let low = anvil.sign(&call, 0, gas + 1).await;
    assert_eq!(class(anvil.chain.send(&[low.raw]).await), SendClass::NonceTooLow);
    let starved = anvil.sign(&call, anvil.next_nonce().await, 20_000).await;
    assert_eq!(class(anvil.chain.send(&[starved.raw]).await), SendClass::GasLimit);
    // A transaction with a nonce gap waits in the mempool; sent again, it is known.
    let waiting = anvil.sign(&call, anvil.next_nonce().await + 1, gas).await;
    assert_eq!(anvil.chain.send(std::slice::from_ref(&waiting.raw)).await, [SendResult::Accepted(waiting.hash)]);
    assert_eq!(anvil.chain.send(&[waiting.raw]).await, [SendResult::AlreadyKnown]);
}

#[tokio::test]
async fn receipts_of_a_block_equal_receipts_by_hash() {
    let anvil = Anvil::with_platform().await;
    let call = factory::deploy_token(anvil.operator.address(), anvil.platform.factory, &offering("off_e"));
    let receipt = anvil.execute(&call).await;
    let of_block = anvil.chain.receipts_of_block(receipt.block_hash, &[receipt.tx_hash]).await.unwrap();
    assert_eq!(of_block, std::slice::from_ref(&receipt));
    assert!(receipt.success && receipt.to == call.to && receipt.gas_used > 100_000 && receipt.effective_gas_price > 0);
    let blocks = anvil.chain.blocks(0, receipt.block_number).await.unwrap();
    let listed = blocks.iter().flat_map(|block| &block.transactions).find(|tx| tx.hash == receipt.tx_hash).unwrap();
    assert_eq!((listed.from, listed.to, listed.nonce), (anvil.operator.address(), call.to, 0));
}

#[tokio::test]
async fn anvils_final_block_trails_its_head() {
    let (chain, _process) = start(&["--slots-in-an-epoch", "1", "--block-time", "1"]).await;
    let contact = chain.check_endpoints().await.unwrap();
    assert_eq!(contact.genesis, chain.header(0).await.unwrap().unwrap().hash);
    tokio::time::sleep(std::time::Duration::from_millis(3_500)).await;
    let heads = chain.heads().await.unwrap();
    assert_eq!(heads.finalized.unwrap().number + 2, heads.latest.number);
    let fees = chain.fees().await.unwrap();
    assert!(
        fees.max_fee_per_gas > heads.latest.base_fee_per_gas && fees.max_priority_fee_per_gas <= fees.max_fee_per_gas
    );
}
