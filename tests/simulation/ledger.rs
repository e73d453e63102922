//! The contracts as far as the engine can tell: what a call changes, emits and refuses, without an EVM.

use std::collections::BTreeMap;

use alloy::primitives::{Address, B256, Bytes, LogData, U256, keccak256};
use alloy::sol_types::{SolCall, SolError, SolEvent};
use muniment_activities::contract::bindings::registry::AgentRegistry;
use muniment_activities::contract::bindings::{factory::TokenFactory, token::PlatformSecurityToken7518 as Token};
use muniment_activities::token::factory::predict_token;

pub const FACTORY: Address = Address::repeat_byte(0xfa);
pub const REGISTRY: Address = Address::repeat_byte(0xae);
/// An agent whose key is not ours: a colleague of the platform with a wallet of their own.
pub const AGENT: Address = Address::repeat_byte(0xa9);
const IMPLEMENTATION: Address = Address::repeat_byte(0x1e);

/// The state after a block.
#[derive(Clone, Default)]
pub struct Ledger {
    pub nonces: BTreeMap<Address, u64>,
    /// The payload that each offering was deployed with.
    pub deployed: BTreeMap<B256, B256>,
    pub tokens: BTreeMap<Address, Issued>,
    /// A payload that is refused until this operation id was executed: what makes a step dependent.
    pub requires: BTreeMap<B256, u64>,
}

/// One token.
#[derive(Clone, Default)]
pub struct Issued {
    pub offering: B256,
    pub symbol: String,
    pub cap: U256,
    pub supply: U256,
    pub balances: BTreeMap<Address, U256>,
    pub executed: BTreeMap<u64, B256>,
}

/// An event, before it has its place.
pub type Event = (Address, LogData);

/// What a call answers and emits, or the bytes of its revert.
pub type Executed = Result<(Bytes, Vec<Event>), Bytes>;

impl Ledger {
    /// Whether a contract stands there.
    pub fn has_code(&self, address: Address) -> bool {
        address == FACTORY || address == REGISTRY || self.tokens.contains_key(&address)
    }

    /// Makes a call. What reverts leaves no trace.
    pub fn call(&mut self, from: Address, to: Address, data: &Bytes) -> Executed {
        if to == FACTORY {
            return self.call_factory(data);
        }
        if to == REGISTRY {
            return Self::call_registry(data);
        }
        if self.tokens.contains_key(&to) {
            return self.call_token(from, to, data);
        }
        // An address without code takes everything and answers nothing.
        Ok((Bytes::new(), Vec::new()))
    }

    /// The colleague is an agent of every offering, and nobody else of any.
    fn call_registry(data: &Bytes) -> Executed {
        if let Ok(call) = AgentRegistry::hasRoleForCall::abi_decode(data) {
            let answer = AgentRegistry::hasRoleForCall::abi_encode_returns(&(call.account == AGENT));
            return Ok((answer.into(), Vec::new()));
        }
        let call = AgentRegistry::isAgentCall::abi_decode(data).map_err(|_| Bytes::new())?;
        Ok((AgentRegistry::isAgentCall::abi_encode_returns(&(call.account == AGENT)).into(), Vec::new()))
    }

    fn call_factory(&mut self, data: &Bytes) -> Executed {
        if let Ok(call) = TokenFactory::tokenOfCall::abi_decode(data) {
            let found = self.deployed.contains_key(&call.offeringId);
            let token = if found { predict_token(FACTORY, IMPLEMENTATION, call.offeringId) } else { Address::ZERO };
            return Ok((TokenFactory::tokenOfCall::abi_encode_returns(&token).into(), Vec::new()));
        }
        if let Ok(call) = TokenFactory::payloadHashOfCall::abi_decode(data) {
            let hash = self.deployed.get(&call.offeringId).copied().unwrap_or_default();
            return Ok((TokenFactory::payloadHashOfCall::abi_encode_returns(&hash).into(), Vec::new()));
        }
        if TokenFactory::implementationCall::abi_decode(data).is_ok() {
            return Ok((TokenFactory::implementationCall::abi_encode_returns(&IMPLEMENTATION).into(), Vec::new()));
        }
        let call = TokenFactory::deployTokenCall::abi_decode(data).map_err(|_| Bytes::new())?;
        let (id, given) = (call.offeringId, keccak256(data));
        let token = predict_token(FACTORY, IMPLEMENTATION, id);
        let created = !self.deployed.contains_key(&id);
        let deployed = *self.deployed.entry(id).or_insert(given);
        if deployed != given {
            return Err(TokenFactory::OfferingParamsDiffer { offeringId: id, deployed, given }.abi_encode().into());
        }
        let mut events = Vec::new();
        if created {
            let (symbol, partitions) = (call.symbol.clone(), U256::from(call.partitions.len()));
            let told = Token::TokenInitialized { offeringId: id, symbol, totalCap: call.totalCap, partitions };
            events.push((token, told.encode_log_data()));
            let issued = Issued { offering: id, symbol: call.symbol, cap: call.totalCap, ..Issued::default() };
            self.tokens.insert(token, issued);
        }
        let event = TokenFactory::TokenDeployed { offeringId: id, token, payloadHash: given, created };
        let answer = TokenFactory::deployTokenCall::abi_encode_returns(&token);
        events.push((FACTORY, event.encode_log_data()));
        Ok((answer.into(), events))
    }

    fn call_token(&mut self, from: Address, to: Address, data: &Bytes) -> Executed {
        let payload = keccak256(data);
        let required = self.requires.get(&payload).copied();
        let Some(token) = self.tokens.get_mut(&to) else { return Err(Bytes::new()) };
        if let Ok(call) = Token::isOperationExecutedCall::abi_decode(data) {
            // The engine of the simulation mints only, so one kind has all the numbers.
            let done = token.executed.contains_key(&call.opId.to::<u64>());
            return Ok((Token::isOperationExecutedCall::abi_encode_returns(&done).into(), Vec::new()));
        }
        if Token::offeringIdCall::abi_decode(data).is_ok() {
            return Ok((Token::offeringIdCall::abi_encode_returns(&token.offering).into(), Vec::new()));
        }
        if Token::tokenSymbolCall::abi_decode(data).is_ok() {
            return Ok((Token::tokenSymbolCall::abi_encode_returns(&token.symbol).into(), Vec::new()));
        }
        let call = Token::mintPageCall::abi_decode(data).map_err(|_| Bytes::new())?;
        let id = call.opId.to::<u64>();
        if token.executed.contains_key(&id) {
            return Err(Token::OperationReplayed { opId: call.opId }.abi_encode().into());
        }
        if required.is_some_and(|before| !token.executed.contains_key(&before)) {
            let refusal = Token::HolderNotWhitelisted { holder: from, partition: call.partition };
            return Err(refusal.abi_encode().into());
        }
        let lines: Vec<(Address, U256)> =
            call.lines.iter().map(|w| (Address::from_slice(&w[..20]), U256::from_be_slice(&w[20..]))).collect();
        let after = lines.iter().fold(token.supply, |sum, (_, units)| sum + units);
        if after > token.cap {
            let refusal = Token::CapExceeded { partition: call.partition, cap: token.cap, supplyAfter: after };
            return Err(refusal.abi_encode().into());
        }
        token.supply = after;
        token.executed.insert(id, payload);
        let kind = B256::right_padding_from(b"mint_page");
        let executed = Token::OperationExecuted { opId: call.opId, kind, payloadHash: payload };
        let mut events = vec![(to, executed.encode_log_data())];
        for (holder, units) in lines {
            *token.balances.entry(holder).or_default() += units;
            events.push((to, minted(from, holder, call.partition, units)));
            if !call.releaseAt.is_zero() {
                let lock = Token::TokensLocked {
                    account: holder,
                    id: call.partition,
                    amount: units,
                    releaseTime: call.releaseAt,
                };
                events.push((to, lock.encode_log_data()));
            }
        }
        Ok((Bytes::new(), events))
    }
}

fn minted(operator: Address, to: Address, id: U256, value: U256) -> LogData {
    Token::TransferSingle { operator, from: Address::ZERO, to, id, value }.encode_log_data()
}
