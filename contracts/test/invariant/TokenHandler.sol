// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {TokenActors} from "./TokenActors.sol";

/// @notice Calls every function that changes a token, as an agent with every role or as a holder, and records the expected
/// state. A rule of a single call is checked here and its failure is kept in `broken`, because a revert of the handler
/// would only discard the call.
contract TokenHandler is TokenActors {
    /// @notice An operation that was executed.
    struct Spent {
        bytes32 kind;
        uint256 opId;
    }

    DemoCoin public immutable coin;

    /// @notice Units minted less units burnt of each partition.
    mapping(uint256 partition => uint256) public minted;
    /// @notice Money paid to each actor.
    mapping(address actor => uint256) public paid;
    /// @notice How often each kind of call took effect.
    mapping(bytes4 selector => uint256) public done;
    /// @notice Calls tried so far.
    uint256 public calls;
    Spent[] private _spent;
    address[] private _retired;
    uint256 private _lastOpId;

    constructor(PlatformSecurityToken7518 token_, DemoCoin coin_) TokenActors(token_) {
        coin = coin_;
        coin_.approve(address(token_), type(uint256).max);
    }

    function mintPage(uint256 seed, uint256 a, uint256 b, uint256 release) external {
        seed = _prepared(seed, a, b);
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = _line(a, 1 + (seed >> 8) % 1000);
        lines[1] = _line(b, 1 + (seed >> 24) % 1000);
        uint256 releaseAt = release % 3 == 0 ? 0 : block.timestamp + 1 + release % 30;
        uint256 partition = _partition(seed);
        bool frozen = token.frozenAmong(lines) != 0;
        if (_op("mint_page", abi.encodeCall(token.mintPage, (_next(), partition, releaseAt, lines)))) {
            minted[partition] += uint96(uint256(lines[0])) + uint96(uint256(lines[1]));
            _must(!frozen, "minted to a frozen holder");
        }
    }

    function batchMint(uint256 seed, uint256 a) external {
        seed = _prepared(seed, a, a);
        bytes32[] memory lines = new bytes32[](1);
        lines[0] = _line(a, 1 + (seed >> 8) % 1000);
        uint256 partition = _partition(seed);
        address holder = actor(a);
        bool allowed = token.isWhitelisted(holder, partition) && !token.isFrozen(holder);
        if (_op("mint", abi.encodeCall(token.batchMint, (_next(), partition, lines)))) {
            minted[partition] += uint96(uint256(lines[0]));
            _must(allowed, "minted to somebody who is not listed");
        }
    }

    function lock(uint256 seed, uint256 a, uint256 release) external {
        seed = _prepared(seed, a, a);
        uint256 partition = _partition(seed);
        uint256 units = 1 + (seed >> 8) % (token.balanceOf(actor(a), partition) + 1);
        _op(
            "lock",
            abi.encodeWithSignature(
                "lockTokens(uint256,address,uint256,uint256,uint256)",
                _next(),
                actor(a),
                partition,
                units,
                block.timestamp + release % 30
            )
        );
    }

    function batchLock(uint256 seed, uint256 a, uint256 b, uint256 release) external {
        seed = _prepared(seed, a, b);
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = _line(a, 1 + (seed >> 8) % 5);
        lines[1] = _line(b, 1 + (seed >> 24) % 5);
        uint256 releaseAt = block.timestamp + 1 + release % 12;
        _op("lock_page", abi.encodeCall(token.batchLockTokens, (_next(), _partition(seed), releaseAt, lines)));
    }

    /// @dev Locks a unit until the next second, so that something is due.
    function unlock(uint256 seed, uint256 a) external {
        seed = _prepared(seed, a, a);
        (address holder, uint256 partition) = (actor(a), _partition(seed));
        _call(abi.encodeWithSelector(0x5783f8e7, holder, partition, 1, block.timestamp + 1));
        vm.warp(block.timestamp + 1);
        uint256 locked = token.lockedBalanceOf(holder, partition);
        if (_call(abi.encodeCall(token.unlockToken, (holder, partition)))) {
            _must(token.lockedBalanceOf(holder, partition) == locked, "an unlock freed what was not due");
        }
    }

    function setFrozenTokens(uint256 seed, uint256 a) external {
        uint256 partition = _partition(seed);
        // Three of four orders are lifted again, so that most units can move.
        uint256 units = seed % 4 == 0 ? (seed >> 8) % (2 * token.balanceOf(actor(a), partition) + 2) : 0;
        if (_call(abi.encodeCall(token.setFrozenTokens, (actor(a), partition, units)))) {
            _must(token.getFrozenTokens(actor(a), partition) == units, "frozen units differ");
        }
    }

    function transfer(uint256 seed, uint256 a, uint256 b) external {
        seed = _prepared(seed, a, b);
        (address from, address to, uint256 partition) = (actor(a), actor(b), _partition(seed));
        uint256 units = (seed >> 8) % (token.transferableBalance(from, partition) + 2);
        bool frozen = token.isFrozen(from) || token.isFrozen(to);
        bool restricted = token.isRestricted(partition);
        uint256 movable = token.transferableBalance(from, partition);
        (bool allowed,) = token.canTransfer(from, to, partition, units, "");
        bool ok = _as(from, abi.encodeCall(token.safeTransferFrom, (from, to, partition, units, "")));
        _must(ok == allowed, "canTransfer and transfer differ");
        if (!ok) return;
        _must(!token.paused(), "moved during a pause");
        _must(!frozen && !restricted, "moved although frozen or restricted");
        _must(units <= movable, "locked units moved");
    }

    function batchTransfer(uint256 seed, uint256 a, uint256 b) external {
        for (uint256 i; i < PARTITIONS; ++i) {
            _prepare(1 + i, a, b);
        }
        seed = _mixed(seed);
        (address from, address to) = (actor(a), actor(b));
        uint256[] memory ids = new uint256[](3);
        uint256[] memory units = new uint256[](3);
        for (uint256 i; i < 3; ++i) {
            ids[i] = _partition(seed >> (8 * i));
            units[i] = (seed >> (32 + 8 * i)) % (token.transferableBalance(from, ids[i]) / 3 + 1);
        }
        bool frozen = token.isFrozen(from) || token.isFrozen(to);
        if (_as(from, abi.encodeCall(token.safeBatchTransferFrom, (from, to, ids, units, "")))) {
            _must(!frozen, "a batch moved although frozen");
        }
    }

    function forceTransfer(uint256 seed, uint256 a, uint256 b, uint256 standard) external {
        seed = _prepared(seed, a, b);
        (address from, address to, uint256 partition) = (actor(a), actor(b), _partition(seed));
        uint256 units = 1 + (seed >> 8) % (token.balanceOf(from, partition) + 1);
        if ((seed >> 240) % 8 != 0) _call(abi.encodeCall(token.freezeAddress, (from, "")));
        bool allowed = token.isFrozen(from) && !token.isFrozen(to) && units <= token.balanceOf(from, partition);
        uint256 locks = token.tranchesOf(to, partition).length;
        bool ok = standard % 2 == 0
            ? _call(abi.encodeCall(token.forcedTransfer, (from, to, partition, units)))
            : _op(
                "force_transfer", abi.encodeCall(token.forceTransfer, (from, to, partition, units, abi.encode(_next())))
            );
        _must(ok == allowed, "forced transfer against its rule");
        _must(from == to || token.tranchesOf(to, partition).length == locks, "a forced transfer brought a lock");
    }

    /// @dev Freezes are rarer than unfreezes, so that most holders can act.
    function freeze(uint256 a, uint256 chance) external {
        if (chance % 4 != 0) return;
        _call(abi.encodeCall(token.freezeAddress, (actor(a), "")));
        _must(token.isFrozen(actor(a)), "not frozen");
    }

    function unFreeze(uint256 a) external {
        bool living = token.successorOf(actor(a)) == address(0);
        _must(_call(abi.encodeCall(token.unFreeze, (actor(a), ""))) == living, "a retired wallet was unfrozen");
    }

    function whitelist(uint256 seed, uint256 a, uint256 chance) external {
        address[] memory holders = new address[](1);
        holders[0] = actor(a);
        _call(abi.encodeCall(token.batchWhitelist, (_partition(seed), holders, chance % 8 != 0)));
    }

    /// @dev Three of four restrictions are removed at once, so that most units can move.
    function restrict(uint256 seed, uint256 chance) external {
        uint256 partition = _partition(seed);
        _must(_call(abi.encodeCall(token.restrictTransfer, (partition))), "not restricted");
        if (chance % 4 == 0) return;
        _must(_call(abi.encodeCall(token.removeRestriction, (partition))), "restricted for ever");
    }

    function setCap(uint256 seed) external {
        uint256 partition = seed % (PARTITIONS + 1);
        uint256 supply = partition == 0 ? token.totalSupply() : token.totalSupply(partition);
        uint256 cap = (seed >> 8) % 5 == 0 ? supply / 2 : supply + (seed >> 16) % 70_000;
        _must(_call(abi.encodeCall(token.setCap, (partition, cap))) == (cap >= supply), "a cap below the supply");
    }

    /// @dev To a new wallet, which replaces the lost one among the actors.
    function recover(uint256 a) external {
        address lost = actor(a);
        address next = address(uint160(uint256(keccak256(abi.encode(lost, "next")))));
        bytes32 before = _picture(lost);
        bool frozen = token.isFrozen(lost);
        if (!_call(abi.encodeCall(token.recoveryAddress, (lost, next, _next())))) return;
        _must(token.lastRecoveryOf(lost) == _lastOpId, "a recovery without its number");
        _must(_picture(next) == before, "a recovery lost something");
        _must(token.isFrozen(next) == frozen, "a recovery lost or made a freeze");
        _must(_picture(lost) == _picture(address(1)), "a recovery left something");
        _must(token.isFrozen(lost) && token.successorOf(lost) == next, "not retired");
        _retired.push(lost);
        _actors[_place(a)] = next;
    }

    function redeem(uint256 seed, uint256 a) external {
        seed = _prepared(seed, a, a);
        (address holder, uint256 partition) = (actor(a), _partition(seed));
        uint256 balance = token.balanceOf(holder, partition);
        uint256 units = 1 + (seed >> 8) % (balance + 1);
        bool ok = _op("redeem", abi.encodeCall(token.redeem, (_next(), holder, partition, units)));
        _must(ok == (units <= balance), "redemption against its rule");
        if (ok) minted[partition] -= units;
    }

    function redeemOwn(uint256 seed, uint256 a, uint256 chance) external {
        seed = _prepared(seed, a, a);
        (address holder, uint256 partition) = (actor(a), _partition(seed));
        _call(abi.encodeCall(token.setHolderRedemption, (chance % 8 != 0)));
        uint256 movable = token.transferableBalance(holder, partition);
        uint256 units = 1 + (seed >> 8) % (movable + 1);
        bool stopped = token.paused() || token.isRestricted(partition) || token.isFrozen(holder);
        bool ok = _as(holder, abi.encodeCall(token.redeemOwn, (partition, units)));
        _must(ok == (chance % 8 != 0 && !stopped && units <= movable), "a holder redeemed against the rules");
        if (ok) minted[partition] -= units;
    }

    /// @dev Frees or shortens the first lock of a holder, after giving it one.
    function releaseLock(uint256 seed, uint256 a) external {
        seed = _prepared(seed, a, a);
        (address holder, uint256 partition) = (actor(a), _partition(seed));
        _call(abi.encodeWithSelector(0x5783f8e7, holder, partition, 1, block.timestamp + 1 + (seed >> 8) % 12));
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(holder, partition);
        if (tranches.length == 0) return;
        IPlatformSecurityToken7518.Tranche memory last = tranches[tranches.length - 1];
        uint256 units = 1 + (seed >> 16) % last.units;
        uint256 earlier = seed % 2 == 0 ? 0 : block.timestamp + (seed >> 32) % 6;
        uint256 locked = token.lockedBalanceOf(holder, partition);
        bool ok = _op(
            "release_lock",
            abi.encodeCall(token.releaseLock, (_next(), holder, partition, units, last.releaseAt, earlier))
        );
        if (ok) _must(token.lockedBalanceOf(holder, partition) <= locked, "a release locked units");
    }

    /// @dev Three of four pauses end at once, so that most units can move.
    function pause(uint256 chance) external {
        _must(_call(abi.encodeCall(token.pause, ())) && token.paused(), "not paused");
        if (chance % 4 == 0) return;
        _must(_call(abi.encodeCall(token.unpause, ())) && !token.paused(), "paused for ever");
    }

    /// @dev A reinstated wallet is empty, frozen and no longer retired.
    function reinstate(uint256 seed) external {
        if (_retired.length == 0) return;
        uint256 index = _mixed(seed) % _retired.length;
        address wallet = _retired[index];
        _must(_op("reinstate", abi.encodeCall(token.reinstateAddress, (wallet, _next()))), "not reinstated");
        _must(token.isFrozen(wallet) && token.successorOf(wallet) == address(0), "free at once");
        _retired[index] = _retired[_retired.length - 1];
        _retired.pop();
    }

    /// @dev Tries every use of a retired wallet. All must be refused.
    function tryRetired(uint256 seed, uint256 a) external {
        if (_retired.length == 0) return;
        address lost = _retired[seed % _retired.length];
        uint256 partition = _partition(seed >> 8);
        _must(!_as(lost, abi.encodeCall(token.safeTransferFrom, (lost, actor(a), partition, 0, ""))), "sends");
        _must(!_as(actor(a), abi.encodeCall(token.safeTransferFrom, (actor(a), lost, partition, 0, ""))), "receives");
        _must(!_call(abi.encodeCall(token.recoveryAddress, (actor(a), lost, _next()))), "takes over");
        _must(!_call(abi.encodeCall(token.unFreeze, (lost, ""))), "comes back");
        _tryToWriteRetired(lost, partition);
        _must(_picture(lost) == _picture(address(1)), "a retired wallet has something");
        _must(token.isFrozen(lost) && token.successorOf(lost) != address(0), "no longer retired");
    }

    /// @dev In the home partition the record of a retired wallet is where its units were.
    function _tryToWriteRetired(address lost, uint256 partition) private {
        address[] memory holders = new address[](1);
        holders[0] = lost;
        bytes32[] memory lines = new bytes32[](1);
        lines[0] = bytes32(abi.encodePacked(lost, uint96(1)));
        uint256 time = block.timestamp + 1;
        _must(!_call(abi.encodeCall(token.batchWhitelist, (partition, holders, true))), "listed");
        _must(!_call(abi.encodeCall(token.setFrozenTokens, (lost, partition, 1))), "an order");
        _must(!_call(abi.encodeCall(token.batchLockTokens, (_next(), partition, time, lines))), "locked");
        _must(!_call(abi.encodeCall(token.mintPage, (_next(), partition, 0, lines))), "minted to");
        _must(!_call(abi.encodeCall(token.redeem, (_next(), lost, partition, 1))), "redeemed");
        _must(!_call(abi.encodeCall(token.unlockToken, (lost, partition))), "unlocked");
        _call(abi.encodeCall(token.freezeAddress, (lost, "")));
    }

    function payout(uint256 seed, uint256 a, uint256 b) external {
        seed = _prepared(seed, a, b);
        bytes32[] memory lines = new bytes32[](2);
        lines[0] = _line(a, 1 + (seed >> 8) % 100);
        lines[1] = _line(b, 1 + (seed >> 24) % 100);
        coin.mint(address(this), 200);
        bool frozen = token.frozenAmong(lines) != 0;
        bytes memory call =
            abi.encodeWithSignature("batchPayout(uint256,address,bytes32[])", _next(), address(coin), lines);
        if (!_op("payout_page", call)) return;
        _must(!frozen, "somebody frozen was paid");
        paid[actor(a)] += uint96(uint256(lines[0]));
        paid[actor(b)] += uint96(uint256(lines[1]));
    }

    /// @dev Repeats an executed operation number. Nothing may change.
    function replay(uint256 seed, uint256 a) external {
        if (_spent.length == 0) return;
        Spent memory old = _spent[seed % _spent.length];
        bytes32[] memory lines = new bytes32[](1);
        lines[0] = _line(a, 1);
        if (old.kind == "mint_page") {
            _must(!_call(abi.encodeCall(token.mintPage, (old.opId, 1, 0, lines))), "mint replayed");
        } else if (old.kind == "force_transfer") {
            bytes memory data = abi.encode(old.opId);
            _must(!_call(abi.encodeCall(token.forceTransfer, (actor(a), actor(seed), 1, 1, data))), "force replayed");
        }
    }

    function pass(uint256 time) external {
        vm.warp(block.timestamp + 1 + time % 10);
    }

    function spentCount() external view returns (uint256) {
        return _spent.length;
    }

    function spent(uint256 index) external view returns (Spent memory) {
        return _spent[index];
    }

    /// @dev The fuzzer likes small numbers. Mixed ones reach every branch.
    function _mixed(uint256 seed) private view returns (uint256) {
        return uint256(keccak256(abi.encode(seed, calls)));
    }

    /// @dev Mixes the seed and, in seven of eight calls, removes what would refuse a call about these actors.
    function _prepared(uint256 seed, uint256 a, uint256 b) private returns (uint256 mixed) {
        mixed = _mixed(seed);
        if ((mixed >> 248) % 8 != 0) _prepare(_partition(mixed), a, b);
    }

    /// @dev These calls are not counted, because they are not what the campaign tries.
    function _prepare(uint256 partition, uint256 a, uint256 b) private {
        if (token.paused()) token.unpause();
        if (token.isRestricted(partition)) token.removeRestriction(partition);
        address[] memory holders = new address[](2);
        (holders[0], holders[1]) = (actor(a), actor(b));
        token.batchWhitelist(partition, holders, true);
        for (uint256 i; i < 2; ++i) {
            token.unFreeze(holders[i], "");
            if (token.getFrozenTokens(holders[i], partition) != 0) token.setFrozenTokens(holders[i], partition, 0);
        }
        token.setCap(partition, token.totalSupply(partition) + 5000);
        token.setCap(0, token.totalSupply() + 5000);
        if (token.transferableBalance(holders[0], partition) < 100) {
            bytes32[] memory lines = new bytes32[](1);
            lines[0] = _line(a, 100);
            token.mintPage(_next(), partition, 0, lines);
            minted[partition] += 100;
        }
    }

    function _partition(uint256 seed) private pure returns (uint256) {
        return 1 + (seed & 0xff) % PARTITIONS;
    }

    function _next() private returns (uint256) {
        return ++_lastOpId;
    }

    /// @dev A call with the newest operation number. The number must be executed exactly if the call succeeds.
    function _op(bytes32 kind, bytes memory call) private returns (bool ok) {
        ok = _call(call);
        _must(token.isOperationExecuted(kind, _lastOpId) == ok, "an id and its effect differ");
        if (ok) _spent.push(Spent(kind, _lastOpId));
    }

    function _call(bytes memory call) private returns (bool ok) {
        ++calls;
        (ok,) = address(token).call(call);
        if (ok) ++done[bytes4(call)];
    }

    function _as(address caller, bytes memory call) private returns (bool ok) {
        vm.prank(caller);
        ++calls;
        (ok,) = address(token).call(call);
        if (ok) ++done[bytes4(call)];
    }
}
