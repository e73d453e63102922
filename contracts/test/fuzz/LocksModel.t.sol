// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {World} from "../World.sol";

/// @notice Compares the token's sorted tranches with a simple model: one number per second.
contract LocksModelTest is World {
    uint256 private constant SPAN = 24;

    /// @dev Units whose lock ends at START + index.
    uint256[SPAN] private _model;
    uint256 private _frozen;
    uint256 private _lastRelease;

    function setUp() public override {
        super.setUp();
        mint(alice, REG_D, 400);
        whitelist(bob, REG_D);
    }

    function testFuzzLocksFollowTheModel(uint256[24] memory steps) public {
        for (uint256 i; i < steps.length; ++i) {
            _step(steps[i]);
            _compare();
        }
    }

    function _step(uint256 seed) private {
        uint256 kind = seed % 9;
        uint256 units = 1 + ((seed >> 8) % 40);
        uint256 second = (seed >> 16) % SPAN;
        if (kind < 3) _lock(units, second);
        else if (kind == 3) vm.warp(block.timestamp + (second % 3));
        else if (kind == 4) _unlock();
        else if (kind == 5) _transfer(units);
        else if (kind == 6) _force(units * 2);
        else if (kind == 7) _freezeUnits(units * 4 - 4);
        else _release(units / 4 + 1, second, (seed >> 24) % SPAN);
    }

    function _lock(uint256 units, uint256 second) private {
        uint256 locked = _locked();
        vm.prank(issuer);
        (bool ok,) = address(token).call(abi.encodeWithSelector(0x5783f8e7, alice, REG_D, units, START + second));
        bool due = START + second <= block.timestamp;
        bool above = locked + units > token.balanceOf(alice, REG_D);
        bool full = _times() == 16 && _model[second] == 0;
        assertTrue(ok == !(due || above || full), "lock");
        if (ok) _model[second] += units;
    }

    function _unlock() private {
        vm.prank(issuer);
        (bool ok,) = address(token).call(abi.encodeCall(token.unlockToken, (alice, REG_D)));
        if (ok) assertEq(token.tranchesOf(alice, REG_D).length, _times(), "only the live ones are left");
    }

    function _transfer(uint256 units) private {
        bool enough = units <= token.balanceOf(alice, REG_D) - _heldBack();
        vm.prank(alice);
        (bool ok,) = address(token).call(abi.encodeCall(token.safeTransferFrom, (alice, bob, REG_D, units, "")));
        assertTrue(ok == enough, "transfer");
    }

    function _force(uint256 units) private {
        if (units > token.balanceOf(alice, REG_D)) return;
        freeze(alice);
        vm.prank(custodian);
        token.forceTransfer(alice, bob, REG_D, units, "");
        vm.prank(officer);
        token.unFreeze(alice, "");
        // The latest locks are cut until the rest fits the balance.
        uint256 balance = token.balanceOf(alice, REG_D);
        for (uint256 i = SPAN; i > 0 && _locked() > balance; --i) {
            if (!_live(i - 1)) continue;
            uint256 over = _locked() - balance;
            _model[i - 1] -= over < _model[i - 1] ? over : _model[i - 1];
        }
        if (_frozen > balance) _frozen = balance;
    }

    /// @dev Any number is allowed, above the balance too.
    function _freezeUnits(uint256 units) private {
        vm.prank(officer);
        token.setFrozenTokens(alice, REG_D, units);
        _frozen = units;
    }

    function _release(uint256 units, uint256 second, uint256 earlier) private {
        uint256 held = _live(second) ? _model[second] : 0;
        vm.prank(officer);
        (bool ok,) = address(token)
            .call(
                abi.encodeCall(
                    token.releaseLock, (++_lastRelease, alice, REG_D, units, START + second, START + earlier)
                )
            );
        bool gone = held == units && _live(second);
        bool full = _live(earlier) && _times() == 16 && _model[earlier] == 0 && !gone;
        assertTrue(ok == (earlier < second && units <= held && !full), "release");
        if (!ok) return;
        _model[second] -= units;
        if (_live(earlier)) _model[earlier] += units;
    }

    function _compare() private view {
        uint256 balance = token.balanceOf(alice, REG_D);
        assertEq(token.lockedBalanceOf(alice, REG_D), _heldBack(), "held back");
        assertEq(token.transferableBalance(alice, REG_D), balance - _heldBack(), "transferable");
        assertEq(token.getFrozenTokens(alice, REG_D), _frozen, "frozen");
        IPlatformSecurityToken7518.Tranche[] memory tranches = token.tranchesOf(alice, REG_D);
        assertLe(tranches.length, 16, "count");
        uint256 last;
        for (uint256 i; i < tranches.length; ++i) {
            assertTrue(tranches[i].releaseAt > last, "sorted, each time once");
            assertTrue(tranches[i].units != 0, "no empty tranche");
            last = tranches[i].releaseAt;
            if (last <= block.timestamp) continue;
            assertEq(tranches[i].units, _model[last - START], "units");
        }
    }

    function _live(uint256 second) private view returns (bool) {
        return START + second > block.timestamp;
    }

    function _locked() private view returns (uint256 units) {
        for (uint256 i; i < SPAN; ++i) {
            if (_live(i)) units += _model[i];
        }
    }

    /// @dev Locked and frozen units overlap.
    function _heldBack() private view returns (uint256) {
        uint256 balance = token.balanceOf(alice, REG_D);
        uint256 frozen = _frozen < balance ? _frozen : balance;
        uint256 locked = _locked();
        return locked > frozen ? locked : frozen;
    }

    function _times() private view returns (uint256 times) {
        for (uint256 i; i < SPAN; ++i) {
            if (_live(i) && _model[i] != 0) ++times;
        }
    }
}
