// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DemoCoin} from "../../src/demo/DemoCoin.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {IERC7518} from "../../src/interfaces/IERC7518.sol";
import {IERC7943MultiToken} from "../../src/interfaces/IERC7943MultiToken.sol";
import {IOperations} from "../../src/interfaces/IOperations.sol";
import {IPlatformSecurityToken7518} from "../../src/interfaces/IPlatformSecurityToken7518.sol";
import {ITokenFactory} from "../../src/interfaces/ITokenFactory.sol";
import {TokenStorage} from "../../src/token/TokenStorage.sol";
import {World} from "../World.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @notice Numbers that others rely on: selectors, interface ids, event topics and storage slots. A change of one breaks
/// them.
contract PinsTest is World {
    bytes32 private constant SLOT = 0x4e1462d0d7fb4d0f49eaf7c512446a7457d2128ffb31aa3d046c310a30c1d700;
    bytes32 private constant OPERATIONS_SLOT = 0x80710232219bbcd9d8e3b3103b0f740788150b08bfcd36f00f6f074f6f6b6700;

    function testSelectorsOfErc7518() public pure {
        _pin(IERC7518.transferableBalance.selector, 0x72f8393c);
        _pin(IERC7518.lockedBalanceOf.selector, 0x8ef4c807);
        _pin(IERC7518.restrictTransfer.selector, 0x22aafbff);
        _pin(IERC7518.removeRestriction.selector, 0xa14fa976);
        _pin(IERC7518.canTransfer.selector, 0x8bcf22ac);
        _pin(IERC7518.lockTokens.selector, 0x5783f8e7);
        _pin(IERC7518.unlockToken.selector, 0x31e9e9c0);
        _pin(IERC7518.forceTransfer.selector, 0x91d3088c);
        _pin(IERC7518.freezeAddress.selector, 0x34e55d1b);
        _pin(IERC7518.unFreeze.selector, 0x577a4883);
        _pin(IERC7518.payout.selector, 0x117de2fd);
        _pin(IERC7518.batchPayout.selector, 0xd91966a7);
        _pin(IERC1155.safeTransferFrom.selector, 0xf242432a);
    }

    function testSelectorsOfThePlatform() public pure {
        _pin(IPlatformSecurityToken7518.mintPage.selector, 0x9e9dc23d);
        _pin(IPlatformSecurityToken7518.batchMint.selector, 0x334f1f7d);
        _pin(IPlatformSecurityToken7518.batchWhitelist.selector, 0xf1ddf5aa);
        _pin(IPlatformSecurityToken7518.batchLockTokens.selector, 0x8c8105a7);
        _pin(IPlatformSecurityToken7518.recoveryAddress.selector, 0x5378ea41);
        _pin(IPlatformSecurityToken7518.offeringId.selector, 0x75915634);
        _pin(IPlatformSecurityToken7518.tokenSymbol.selector, 0x7b61c320);
        _pin(IPlatformSecurityToken7518.isFrozen.selector, 0xe5839836);
        _pin(IPlatformSecurityToken7518.isRestricted.selector, 0xf74af801);
        _pin(IPlatformSecurityToken7518.successorOf.selector, 0x5adbc9c7);
        _pin(IPlatformSecurityToken7518.frozenAmong.selector, 0x10ed7de4);
        _pin(IOperations.isOperationExecuted.selector, 0x5f43472e);
        _pin(ITokenFactory.deployToken.selector, 0xbd03f84a);
        _pin(ITokenFactory.predictToken.selector, 0x250c5045);
        _pin(IAgentRegistry.isAgent.selector, 0x1ffbb064);
        _pin(IAgentRegistry.hasRole.selector, 0x5c97f4a2);
    }

    /// @dev Overloads have no unique name in Solidity, so the test calls them by their signature.
    function testSelectorsOfOverloads() public {
        _pin(bytes4(keccak256("lockTokens(uint256,address,uint256,uint256,uint256)")), 0x3b01bc4d);
        _pin(bytes4(keccak256("payout(uint256,address,address,uint256)")), 0x4892da8d);
        _pin(bytes4(keccak256("batchPayout(uint256,address,bytes32[])")), 0x62b6cf39);
        bytes4[3] memory overloads = [bytes4(0x3b01bc4d), 0x4892da8d, 0x62b6cf39];
        for (uint256 i; i < 3; ++i) {
            (bool ok, bytes memory answer) =
                address(token).call(abi.encodePacked(overloads[i], new bytes(160), abi.encode(uint256(0))));
            assertFalse(ok, "not for me");
            assertTrue(answer.length != 0, "but it is there");
        }
    }

    function testInterfaceIds() public view {
        bytes4 id = type(IERC7518).interfaceId ^ IERC1155.safeTransferFrom.selector;
        _pin(id, 0x5a264a5d);
        _pin(type(IERC7943MultiToken).interfaceId, 0x41c4fbad);
        assertTrue(token.supportsInterface(0x5a264a5d), "ERC-7518");
        assertTrue(token.supportsInterface(0x41c4fbad), "ERC-7943");
        assertTrue(token.supportsInterface(type(IERC1155).interfaceId), "ERC-1155");
        assertTrue(token.supportsInterface(type(IERC165).interfaceId), "ERC-165");
        assertFalse(token.supportsInterface(0xffffffff), "and no more");
    }

    function testTopicsOfErc7518() public pure {
        _pin(IERC7518.TokensLocked.selector, 0x90e20a62e0f2a608d33bd96a4e15cb853006a15caf4455f373b7b55de520b68c);
        _pin(IERC7518.TokenUnlocked.selector, 0x613edbda9d1e6bda8af8e869a973f88cccf93854a11f351589038de07e1ab4e3);
        _pin(
            IERC7518.TokensForceTransferred.selector, 0x7bc96d393994efe78f891aa5fb19fdeefb0a0ccb4d3e7e8d291f776885f374e8
        );
        _pin(IERC7518.AddressFrozen.selector, 0x442dccffcc18e610a10e4c53d26a757970b37fdd0a958f2d8abf33813f6b40f7);
        _pin(IERC7518.AddressUnfrozen.selector, 0x1991062b4195f20fe9ecd4eb0d2e76fd23b81c4259e2522a70a49e0f785cb6d1);
        _pin(IERC7518.TransferRestricted.selector, 0x0bdbd0f723fddf1bd7576b1ad847265ea1933458f790c52f4472f42cc301f54c);
        _pin(
            IERC7518.TransferRestrictionRemoved.selector,
            0xcd7f1fe23282cf332983aa662957e0be0f75efe01fdadf2463f66e8b9c597e5d
        );
        _pin(IERC7518.PayoutDelivered.selector, 0xe43cf1c710923b850c5d042652db3aedff4dc95b1560010cfae8ac1cdcbafcfb);
    }

    function testTopicsOfThePlatform() public pure {
        _pin(IOperations.OperationExecuted.selector, 0x3f855439613bdb96b121ff8c3be52ffb724e4158116de4ea0e14918398460004);
        _pin(ITokenFactory.TokenDeployed.selector, 0x6f6ac2caafc3939f63545d7d12ba5a25dc174a5272032671fd0adb94a03863ad);
        _pin(IAgentRegistry.RolesChanged.selector, 0x27bb0836e0b236f3c6480090634d9bd501d1d1484bb93ee4f8964753b00599b0);
        _pin(
            IPlatformSecurityToken7518.HolderWhitelisted.selector,
            0x0c44110162d38208ba114c7f393e3acf8b889c302df1bf5812d4e778046fbe96
        );
        _pin(
            IPlatformSecurityToken7518.AddressRecovered.selector,
            0x742aa578a56bea8e0858d676ef99df507611063bbe9230d09aa2436e41796e66
        );
        _pin(
            IPlatformSecurityToken7518.LocksCut.selector,
            0x2f3c677f0150e73d77187026e1587bae0d981aba57c53ba95ae0de6736a2c31e
        );
        _pin(
            IPlatformSecurityToken7518.CapChanged.selector,
            0x7338f3784ceb8f9456bac0c4a69f1c6354dc325fa6455e3e3f6a8a9bf9249a7c
        );
        _pin(
            IPlatformSecurityToken7518.PartitionAdded.selector,
            0x6bddc00ecd49cd0e9e982576b0f14f26fc4fc9bd9c25bd439d83148a1f720628
        );
        _pin(
            IERC7943MultiToken.ForcedTransfer.selector,
            0xa7f01abbf5b7ec7bac7fb74feb5c1f54af9e430f18a33681c1b9149875339a45
        );
        _pin(IERC7943MultiToken.Frozen.selector, 0x7b0c29e799ed468266b4d070c03070137a95cb869c5eb7c18063fb7b1a7a09c5);
        _pin(IERC1155.TransferSingle.selector, 0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62);
        _pin(IERC1155.TransferBatch.selector, 0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb);
    }

    function testNamespacesFollowErc7201() public pure {
        _pin(_namespace("muniment.storage.SecurityToken"), SLOT);
        _pin(TokenStorage.SLOT, SLOT);
        _pin(_namespace("muniment.storage.Operations"), OPERATIONS_SLOT);
    }

    function testStorageOfTotalSymbolAndModules() public {
        mint(alice, REG_D, 3);
        vm.prank(officer);
        token.setRule144(address(factory));
        vm.prank(issuer);
        token.setPayoutAsset(carol);
        assertEq(uint256(_load(SLOT, 0)), 3 | (CAP << 96) | (2 << 192), "total");
        assertEq(_load(SLOT, 1), bytes32(bytes("OFF1")) | bytes32(uint256(8)), "symbol");
        assertEq(address(uint160(uint256(_load(SLOT, 2)))), address(factory), "module");
        assertEq(address(uint160(uint256(_load(SLOT, 3)))), carol, "asset");
    }

    function testStorageOfPartitionAndApproval() public {
        mint(alice, REG_S, 3);
        vm.prank(officer);
        token.restrictTransfer(REG_S);
        uint256 partition = uint256(_load(_key(bytes32(REG_S), _at(SLOT, 4)), 0));
        assertEq(partition, 3 | ((CAP / 2) << 96) | (1 << 192) | (1 << 193), "supply, cap, exists, restricted");
        vm.prank(bob);
        token.setApprovalForAll(carol, true);
        assertEq(_load(_key(_word(carol), _key(_word(bob), _at(SLOT, 7))), 0), bytes32(uint256(1)), "approval");
    }

    function testStorageOfAHolding() public {
        mint(alice, REG_D, 30);
        lock(alice, REG_D, 7, START + 2);
        lock(alice, REG_D, 5, START + 1);
        bytes32 base = _key(_word(alice), _key(bytes32(REG_D), _at(SLOT, 6)));
        uint256 word = uint256(_load(base, 0));
        assertEq(word, 30 | (5 << 96) | ((START + 1) << 192) | (1 << 232) | (1 << 240), "word");
        assertEq(uint256(_load(base, 1)), ((START + 2) << 96) | 7, "first tranche beside it");
    }

    function testSlotOfTheHomePartition() public pure {
        assertEq(TokenStorage.HOME_SLOT, _key(bytes32(TokenStorage.HOME), _at(SLOT, 6)), "holdings[HOME]");
    }

    /// @dev The home partition also tells whether an address is frozen, retired or reinstated, on all partitions.
    function testStorageOfFrozenAndRetiredAddresses() public {
        mint(alice, REG_S, 3);
        freeze(alice);
        bytes32 lost = _key(_word(alice), _key(bytes32(REG_D), _at(SLOT, 6)));
        bytes32 replacement = _key(_word(bob), _key(bytes32(REG_D), _at(SLOT, 6)));
        assertEq(uint256(_load(lost, 0)), 1 << 243, "frozen");
        vm.startPrank(custodian);
        token.recoveryAddress(alice, bob, 900);
        assertEq(uint256(_load(lost, 0)), uint160(bob) | (900 << 160) | (1 << 243) | (1 << 255), "retired");
        assertEq(uint256(_load(replacement, 0)), 1 << 243, "the freeze");
        token.reinstateAddress(alice, 901);
        assertEq(uint256(_load(lost, 0)), (1 << 243) | (1 << 244), "reinstated");
        assertEq(uint256(_load(_key(_word(alice), _at(SLOT, 5)), 0)), 900, "its number");
        token.recoveryAddress(alice, carol, 902);
        vm.stopPrank();
        bytes32 last = _key(_word(carol), _key(bytes32(REG_D), _at(SLOT, 6)));
        assertEq(uint256(_load(last, 0)), 1 << 243, "the freeze without the mark");
    }

    function testStorageOfFrozenUnits() public {
        mint(alice, REG_D, 30);
        vm.prank(officer);
        token.setFrozenTokens(alice, REG_D, 45);
        bytes32 base = _key(_word(alice), _key(bytes32(REG_D), _at(SLOT, 6)));
        assertEq(uint256(_load(base, 0)), 30 | (1 << 240) | (1 << 242), "word");
        assertEq(uint256(_load(base, 16)), 45, "units");
    }

    function testStorageOfPause() public {
        vm.prank(officer);
        token.pause();
        vm.prank(issuer);
        token.setHolderRedemption(true);
        assertEq(uint256(_load(SLOT, 0)), (CAP << 96) | (2 << 192) | (1 << 232) | (1 << 233), "total");
        uint256 partition = uint256(_load(_key(bytes32(REG_D), _at(SLOT, 4)), 0));
        assertEq(partition, (CAP << 96) | (1 << 192) | (1 << 195), "partition");
    }

    function testStorageOfOperations() public {
        vm.startPrank(issuer);
        token.mintPage(1, REG_D, 0, page(alice, 1));
        token.mintPage(15, REG_D, 0, page(alice, 1));
        token.batchMint(15, REG_D, page(alice, 1));
        token.mintPage(16, REG_D, 0, page(alice, 1));
        vm.stopPrank();
        assertEq(uint256(_load(_key(0, OPERATIONS_SLOT), 0)), (1 << 17) | (1 << 31) | (1 << 47), "first word");
        assertEq(uint256(_load(_key(bytes32(uint256(1)), OPERATIONS_SLOT), 0)), 1 << 16, "second word");
    }

    /// @dev The printed standard returns a bool from each of these. A caller compiled against it decodes the answer.
    function testReturnTypesOfErc7518() public {
        mint(alice, REG_D, 9);
        DemoCoin coin = new DemoCoin("Demo Dollar", "DUSD", 6);
        coin.mint(payer, 9);
        vm.prank(payer);
        coin.approve(address(token), 9);
        vm.prank(issuer);
        token.setPayoutAsset(address(coin));
        _returnsTrue(officer, abi.encodeCall(token.restrictTransfer, (REG_D)));
        _returnsTrue(officer, abi.encodeCall(token.removeRestriction, (REG_D)));
        _returnsTrue(officer, abi.encodeWithSelector(IERC7518.lockTokens.selector, alice, REG_D, 1, START + 1));
        _returnsTrue(payer, abi.encodeWithSelector(IERC7518.payout.selector, alice, 1));
        _returnsTrue(payer, abi.encodeWithSelector(IERC7518.batchPayout.selector, one(alice), _ones()));
        _returnsTrue(officer, abi.encodeCall(token.freezeAddress, (alice, "")));
        _returnsTrue(custodian, abi.encodeCall(token.forceTransfer, (alice, bob, REG_D, 1, "")));
        _returnsTrue(officer, abi.encodeCall(token.unFreeze, (alice, "")));
        _returnsTrue(custodian, abi.encodeCall(token.setFrozenTokens, (alice, REG_D, 1)));
    }

    function _returnsTrue(address caller, bytes memory call) private {
        vm.prank(caller);
        (bool ok, bytes memory answer) = address(token).call(call);
        assertTrue(ok, "accepted");
        assertEq(answer, abi.encode(true), "one word, true");
    }

    function _ones() private pure returns (uint256[] memory amounts) {
        amounts = new uint256[](1);
        amounts[0] = 1;
    }

    function _pin(bytes4 actual, bytes4 pinned) private pure {
        assertEq(bytes32(actual), bytes32(pinned), "pinned");
    }

    function _pin(bytes32 actual, bytes32 pinned) private pure {
        assertEq(actual, pinned, "pinned");
    }

    function _namespace(string memory id) private pure returns (bytes32) {
        return keccak256(abi.encode(uint256(keccak256(bytes(id))) - 1)) & ~bytes32(uint256(0xff));
    }

    function _at(bytes32 slot, uint256 offset) private pure returns (bytes32) {
        return bytes32(uint256(slot) + offset);
    }

    function _word(address account) private pure returns (bytes32) {
        return bytes32(uint256(uint160(account)));
    }

    function _key(bytes32 key, bytes32 slot) private pure returns (bytes32) {
        return keccak256(abi.encode(key, slot));
    }

    function _load(bytes32 slot, uint256 offset) private view returns (bytes32) {
        return vm.load(address(token), _at(slot, offset));
    }
}
