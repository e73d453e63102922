// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {IPlatformSecurityTokenErrors} from "../../src/interfaces/IPlatformSecurityTokenErrors.sol";
import {World} from "../World.sol";
import {ModuleStub} from "../mocks/ModuleStub.sol";
import {IERC1155Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";

/// @notice `canTransfer` answers true exactly if the transfer succeeds, and otherwise returns the transfer's reason.
contract CanTransferTest is World {
    uint256 private constant FLAGGED = 3;

    ModuleStub private module;

    /// @dev One state of the token: a bit or a number for everything that a rule reads.
    struct Case {
        uint8 partition;
        uint16 balance;
        uint16 locked;
        uint16 later;
        uint16 amount;
        uint8 seconds_;
        bool fromFrozen;
        bool toFrozen;
        bool toListed;
        bool restricted;
        bool paused;
        uint16 frozen;
        bool moduleSet;
        bool moduleAllows;
        bool moduleServes;
        bool toSelf;
        bool toZero;
    }

    function setUp() public override {
        super.setUp();
        module = new ModuleStub();
        vm.prank(issuer);
        token.addPartition(FLAGGED, IPlatformSecurityToken7518.PartitionTerms(CAP, false, true));
    }

    function testFuzzCanTransferMatchesTheTransfer(Case memory c) public {
        (uint256 partition, address to) = _arrange(c);
        (bool allowed, bytes32 reason) = token.canTransfer(alice, to, partition, c.amount, "");
        assertTrue(allowed == (reason == 0), "a reason exactly when refused");
        assertTrue(allowed == token.canTransfer(alice, to, partition, c.amount), "ERC-7943 agrees");
        assertFalse(token.canTransfer(address(0), to, partition, c.amount), "zero cannot send");
        uint256 fromBefore = token.balanceOf(alice, partition);
        uint256 toBefore = token.balanceOf(to, partition);
        uint256 movable = token.transferableBalance(alice, partition);

        vm.prank(alice);
        (bool ok, bytes memory answer) =
            address(token).call(abi.encodeCall(token.safeTransferFrom, (alice, to, partition, c.amount, "")));
        assertTrue(ok == allowed, "transfer agrees");
        if (ok) {
            uint256 moved = to == alice ? 0 : c.amount;
            assertEq(token.balanceOf(alice, partition), fromBefore - moved, "from");
            assertEq(token.balanceOf(to, partition), toBefore + moved, "to");
            assertLe(c.amount, movable, "only what was transferable");
        } else {
            bytes memory expected = abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, to, partition, c.amount, reason
            );
            assertEq(answer, expected, "its own reason");
        }
    }

    function testFuzzCanTransferMatchesTheBatch(Case memory c) public {
        (uint256 partition, address to) = _arrange(c);
        (bool allowed, bytes32 reason) = token.canTransfer(alice, to, partition, c.amount, "");
        uint256[] memory ids = new uint256[](1);
        uint256[] memory amounts = new uint256[](1);
        (ids[0], amounts[0]) = (partition, c.amount);
        vm.prank(alice);
        (bool ok, bytes memory answer) =
            address(token).call(abi.encodeCall(token.safeBatchTransferFrom, (alice, to, ids, amounts, "")));
        assertTrue(ok == allowed, "batch agrees");
        if (ok) return;
        bytes memory expected = to == address(0)
            ? abi.encodeWithSelector(IERC1155Errors.ERC1155InvalidReceiver.selector, to)
            : abi.encodeWithSelector(
                IPlatformSecurityTokenErrors.TransferRefused.selector, alice, to, partition, c.amount, reason
            );
        assertEq(answer, expected, "its own reason");
    }

    function testFuzzCanTransferFromZeroMatchesTheMint(Case memory c, uint16 cap, uint16 totalCap) public {
        (uint256 partition, address to) = _arrange(c);
        if (partition <= FLAGGED && partition != 0) {
            vm.startPrank(issuer);
            token.setCap(partition, token.totalSupply(partition) + cap);
            token.setCap(0, token.totalSupply() + totalCap);
            vm.stopPrank();
        }
        uint256 units = c.amount;
        (bool allowed,) = token.canTransfer(address(0), to, partition, units, "");
        vm.prank(issuer);
        (bool ok,) = address(token).call(abi.encodeCall(token.batchMint, (900, partition, page(to, units))));
        assertTrue(ok == allowed, "mint agrees");
    }

    function _arrange(Case memory c) private returns (uint256 partition, address to) {
        partition = bound(c.partition, 0, 4);
        to = c.toZero ? address(0) : c.toSelf ? alice : bob;
        if (partition == 0 || partition == 4) return (partition, to);
        vm.prank(officer);
        token.setRule144(address(module));
        _holdings(c, partition);
        if (c.toListed) whitelist(bob, partition);
        if (c.restricted) {
            vm.prank(officer);
            token.restrictTransfer(partition);
        }
        if (c.paused) {
            vm.prank(officer);
            token.pause();
        }
        if (c.frozen % 4 == 0) {
            vm.prank(officer);
            token.setFrozenTokens(alice, partition, c.frozen % 2000);
        }
        if (c.fromFrozen) freeze(alice);
        if (c.toFrozen) freeze(bob);
        module.answer(c.moduleAllows, c.moduleAllows ? bytes32(0) : bytes32("rule144-volume"));
        module.serve(c.moduleServes);
        if (!c.moduleSet) {
            vm.prank(officer);
            token.setRule144(address(0));
        }
        vm.warp(START + bound(c.seconds_, 0, 25));
    }

    function _holdings(Case memory c, uint256 partition) private {
        uint256 balance = bound(c.balance, 1, 1000);
        c.amount = uint16(bound(c.amount, 0, 1200));
        mint(alice, partition, balance);
        uint256 locked = bound(c.locked, 0, balance);
        if (locked != 0) lock(alice, partition, locked, START + 10);
        uint256 later = bound(c.later, 0, balance - locked);
        if (later != 0) lock(alice, partition, later, START + 20);
    }
}
