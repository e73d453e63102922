// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";

/// @dev Has every role and acts as agents, holders and a hostile asset, in any order. It records every payment. A call
/// that the distributor refuses is a valid result.
contract DistributorHandler {
    uint256 public constant DISTRIBUTIONS_MAX = 6;
    uint256 public constant LINES = 16;
    uint256 public constant HOLDERS = 8;

    PlatformSecurityToken7518 public immutable TOKEN;
    PlatformYieldDistributor public immutable DISTRIBUTOR;
    HostileCoin public immutable COIN;

    address[] public wallets;
    uint256 public count;
    uint256 public pulled;
    uint256 public returned;
    bool public paidAFrozenWallet;
    bool public acceptedAWrongPage;

    uint256 private _lastOpId;
    mapping(uint256 number => bytes32[]) private _lists;

    constructor(PlatformSecurityToken7518 token, PlatformYieldDistributor distributor, HostileCoin coin) {
        TOKEN = token;
        DISTRIBUTOR = distributor;
        COIN = coin;
        coin.approve(address(distributor), type(uint256).max);
        for (uint256 i = 0; i < HOLDERS; ++i) {
            wallets.push(_newWallet());
        }
    }

    /// @dev The list has the first wallets, also recovered ones.
    function create(uint256 seed) external {
        uint256 number = count;
        if (number == DISTRIBUTIONS_MAX) return;
        count = number + 1;
        uint256 total = 0;
        bytes32 rolled = 0;
        for (uint256 i = 0; i < LINES; ++i) {
            uint256 amount = 1 + uint256(keccak256(abi.encode(seed, i))) % 1e9;
            bytes32 line = bytes32(abi.encodePacked(wallets[i % HOLDERS], uint96(amount)));
            _lists[number].push(line);
            rolled = keccak256(abi.encode(rolled, line));
            total += amount;
        }
        COIN.mint(address(this), total);
        pulled += total;
        DISTRIBUTOR.createDistribution(id(number), address(TOKEN), address(COIN), total, LINES, rolled, 0);
    }

    function payNextPage(uint256 number, uint256 length) external {
        if (count == 0) return;
        number %= count;
        IPlatformYieldDistributor.Distribution memory state = DISTRIBUTOR.distribution(id(number));
        uint256 left = LINES - state.next;
        if (left == 0) return;
        bytes32[] memory lines = _slice(number, state.next, state.next + 1 + length % (left < 4 ? left : 4));
        uint256[] memory before = _balancesOfFrozen();
        try DISTRIBUTOR.payoutForDistribution(id(number), state.next, lines) {} catch {}
        _noteFrozen(before);
    }

    /// @dev Pays any page but the next one, or the next one with a wrong first line.
    function payWrongPage(uint256 number, uint256 from, uint256 amount) external {
        if (count == 0) return;
        number %= count;
        uint256 next = DISTRIBUTOR.distribution(id(number)).next;
        from %= LINES;
        bytes32[] memory lines = _slice(number, from, from + 1);
        if (from == next) {
            // A wrong line before the last page is not refused here: the distributor notices it with the last page only.
            if (next != LINES - 1) return;
            lines[0] = bytes32(uint256(lines[0]) ^ (1 + amount % 7));
        }
        try DISTRIBUTOR.payoutForDistribution(id(number), from, lines) {
            acceptedAWrongPage = true;
        } catch {}
    }

    function claim(uint256 number, uint256 wallet) external {
        uint256[] memory before = _balancesOfFrozen();
        try DISTRIBUTOR.claimWithheld(id(number % DISTRIBUTIONS_MAX), wallets[wallet % wallets.length]) {} catch {}
        _noteFrozen(before);
    }

    function cancel(uint256 number, uint256 seldom) external {
        if (seldom % 16 != 0) return;
        uint256 before = COIN.balanceOf(address(this));
        try DISTRIBUTOR.cancelDistribution(id(number % DISTRIBUTIONS_MAX)) {
            returned += COIN.balanceOf(address(this)) - before;
        } catch {}
    }

    function freeze(uint256 wallet) external {
        TOKEN.freezeAddress(wallets[wallet % wallets.length], "");
    }

    function unfreeze(uint256 wallet) external {
        try TOKEN.unFreeze(wallets[wallet % wallets.length], "") {} catch {}
    }

    function recover(uint256 wallet) external {
        if (wallets.length == 3 * HOLDERS) return;
        address replacement = _newWallet();
        try TOKEN.recoveryAddress(wallets[wallet % wallets.length], replacement, _lastOpId + 1) {
            ++_lastOpId;
            wallets.push(replacement);
        } catch {}
    }

    /// @dev Ways in which an asset can fail a single payee. Other ways revert the page and have unit tests.
    function setMode(uint256 wallet, uint256 mode) external {
        HostileCoin.Mode[5] memory modes = [
            HostileCoin.Mode.Honest,
            HostileCoin.Mode.ReturnsFalse,
            HostileCoin.Mode.Reverts,
            HostileCoin.Mode.ReturnsNothing,
            HostileCoin.Mode.BurnsGas
        ];
        COIN.setMode(wallets[wallet % wallets.length], modes[mode % modes.length]);
    }

    function id(uint256 number) public pure returns (bytes32) {
        return bytes32(number + 1);
    }

    function walletCount() external view returns (uint256) {
        return wallets.length;
    }

    function list(uint256 number) external view returns (bytes32[] memory) {
        return _lists[number];
    }

    function _newWallet() private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("wallet", wallets.length)))));
    }

    function _slice(uint256 number, uint256 from, uint256 to) private view returns (bytes32[] memory lines) {
        lines = new bytes32[](to - from);
        for (uint256 i = from; i < to; ++i) {
            lines[i - from] = _lists[number][i];
        }
    }

    /// @dev Balances of the wallets that are frozen now. For other wallets the largest number.
    function _balancesOfFrozen() private view returns (uint256[] memory balances) {
        balances = new uint256[](wallets.length);
        for (uint256 i = 0; i < balances.length; ++i) {
            balances[i] = TOKEN.isFrozen(wallets[i]) ? COIN.balanceOf(wallets[i]) : type(uint256).max;
        }
    }

    function _noteFrozen(uint256[] memory before) private {
        for (uint256 i = 0; i < before.length; ++i) {
            if (COIN.balanceOf(wallets[i]) > before[i]) paidAFrozenWallet = true;
        }
    }
}
