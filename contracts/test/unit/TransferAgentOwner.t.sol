// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TransferAgent} from "../../src/TransferAgent.sol";
import {ITransferAgent} from "../../src/interfaces/ITransferAgent.sol";
import {TransferAgentFixture} from "./TransferAgentFixture.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @dev What the owner of the desk may do: take power at once, and give it after the delay.
contract TransferAgentOwnerTest is TransferAgentFixture {
    function testOneMemberMovesIfNoSecondIsRequired() external {
        vm.expectEmit();
        emit ITransferAgent.SecondApproverRequired(false, START + 48 hours);
        vm.prank(owner);
        desk.requireSecondApprover(false);
        vm.warp(START + 48 hours - 1);
        assertTrue(desk.secondApproverRequired(), "still required");
        vm.prank(both);
        bytes32 id = desk.propose(_forcedTransfer());
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.SecondApproverNeeded.selector, id, both));
        vm.prank(both);
        desk.execute(_forcedTransfer());
        vm.warp(START + 48 hours);
        assertFalse(desk.secondApproverRequired(), "not required");
        vm.prank(both);
        desk.execute(_forcedTransfer());
        assertEq(token.balanceOf(bob, REG_D), 400, "moved");
    }

    /// @dev On again takes effect at once and takes an announcement back; off twice stays off.
    function testSecondApproverRequiredAgain() external {
        vm.startPrank(owner);
        desk.requireSecondApprover(false);
        vm.expectEmit();
        emit ITransferAgent.SecondApproverRequired(true, START);
        desk.requireSecondApprover(true);
        vm.warp(START + 96 hours);
        assertTrue(desk.secondApproverRequired(), "taken back");
        desk.requireSecondApprover(false);
        vm.warp(START + 144 hours);
        assertFalse(desk.secondApproverRequired(), "off");
        desk.requireSecondApprover(false);
        assertFalse(desk.secondApproverRequired(), "still off");
        desk.requireSecondApprover(true);
        assertTrue(desk.secondApproverRequired(), "on at once");
        vm.stopPrank();
    }

    /// @dev The owner alone, with any number of addresses of its own, moves nothing before everybody could see it for two
    /// days.
    function testOwnerCannotMoveWithoutTheDelay() external {
        address other = makeAddr("other");
        vm.startPrank(owner);
        desk.requireSecondApprover(false);
        desk.setDeskMember(owner, 3);
        desk.setDeskMember(other, 2);
        vm.warp(START + 48 hours - 1);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, owner, 1));
        desk.propose(_forcedTransfer());
        vm.stopPrank();
        _propose(_forcedTransfer());
        address[2] memory callers = [owner, other];
        for (uint256 i = 0; i < callers.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(ITransferAgent.NotOnDesk.selector, callers[i], 2));
            vm.prank(callers[i]);
            desk.execute(_forcedTransfer());
        }
    }

    function testSetDeskMember() external {
        vm.expectEmit();
        emit ITransferAgent.DeskMemberSet(stranger, 3, START + 48 hours);
        vm.prank(owner);
        desk.setDeskMember(stranger, 3);
        vm.warp(START + 48 hours - 1);
        assertEq(desk.deskRolesOf(stranger), 0, "announced only");
        vm.warp(START + 48 hours);
        assertEq(desk.deskRolesOf(stranger), 3, "roles");
        vm.startPrank(owner);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        desk.setDeskMember(address(0), 1);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.UnknownRoles.selector, 4));
        desk.setDeskMember(stranger, 4);
        vm.stopPrank();
    }

    /// @dev A role that is lost ends at once, also while another one is announced.
    function testSetDeskMemberTakesRolesAtOnce() external {
        vm.startPrank(owner);
        vm.expectEmit();
        emit ITransferAgent.DeskMemberSet(proposer, 2, START + 48 hours);
        desk.setDeskMember(proposer, 2);
        assertEq(desk.deskRolesOf(proposer), 0, "lost at once, gained later");
        vm.expectEmit();
        emit ITransferAgent.DeskMemberSet(both, 1, START);
        desk.setDeskMember(both, 1);
        assertEq(desk.deskRolesOf(both), 1, "approver no more");
        desk.setDeskMember(proposer, 0);
        vm.warp(START + 96 hours);
        assertEq(desk.deskRolesOf(proposer), 0, "the announcement is taken back");
        vm.stopPrank();
    }

    function testConstructorRefusesWrongMembers() external {
        (address[] memory members, uint256[] memory roles) = (new address[](1), new uint256[](2));
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.LengthsDiffer.selector, 1, 2));
        new TransferAgent(owner, members, roles);
        roles = new uint256[](1);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.ZeroAddress.selector));
        new TransferAgent(owner, members, roles);
        (members[0], roles[0]) = (both, 4);
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.UnknownRoles.selector, 4));
        new TransferAgent(owner, members, roles);
    }

    function testOwnerFunctionsByOthers() external {
        bytes memory refused = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, both);
        vm.startPrank(both);
        vm.expectRevert(refused);
        desk.setDeskMember(both, 1);
        vm.expectRevert(refused);
        desk.requireSecondApprover(false);
        vm.stopPrank();
    }

    /// @dev Without an owner a lost key could not be removed.
    function testRenounceOwnership() external {
        vm.expectRevert(abi.encodeWithSelector(ITransferAgent.OwnershipIsRequired.selector));
        vm.prank(owner);
        desk.renounceOwnership();
    }

    function testSecondApproverIsRequiredFromTheStart() external view {
        assertTrue(desk.secondApproverRequired(), "required");
    }
}
