// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AgentGated} from "./AgentGated.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IERC7943MultiToken} from "./interfaces/IERC7943MultiToken.sol";
import {IPlatformSecurityToken7518} from "./interfaces/IPlatformSecurityToken7518.sol";
import {Reasons} from "./token/Reasons.sol";
import {TokenCustody} from "./token/TokenCustody.sol";
import {TokenIssuance} from "./token/TokenIssuance.sol";
import {TokenPartitions} from "./token/TokenPartitions.sol";
import {TokenPayouts} from "./token/TokenPayouts.sol";
import {TokenRecovery} from "./token/TokenRecovery.sol";
import {TokenRedemption} from "./token/TokenRedemption.sol";
import {TokenStorage} from "./token/TokenStorage.sol";
import {TokenTransfers} from "./token/TokenTransfers.sol";
import {TotalWord, TotalWordLibrary} from "./token/TotalWord.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @title PlatformSecurityToken7518
/// @notice The implementation of every offering's token. See `IPlatformSecurityToken7518`.
/// @dev Used through clones only. Clones cannot be upgraded; a new implementation serves later offerings.
contract PlatformSecurityToken7518 is
    TokenTransfers,
    TokenPartitions,
    TokenIssuance,
    TokenCustody,
    TokenRecovery,
    TokenRedemption,
    TokenPayouts
{
    /// @dev XOR of the selectors in the standard's text, with `safeTransferFrom`. A test pins it.
    bytes4 private constant _ERC7518_ID = 0x5a264a5d;

    address private immutable _SELF = address(this);

    /// @dev The full count of partitions makes the implementation unusable: `initialize` and `addPartition` revert.
    constructor(IAgentRegistry registry) AgentGated(registry) {
        TokenStorage.state().total = TotalWordLibrary.sealedWord(_PARTITIONS_MAX);
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function initialize(string calldata symbol, uint256 cap, PartitionTerms[] calldata partitions) external {
        TokenStorage.Layout storage $ = TokenStorage.state();
        if ($.total.count() != 0) revert AlreadyInitialized();
        uint256 length = bytes(symbol).length;
        if (length == 0 || length > 31) revert SymbolLengthOutOfRange(length);
        if (partitions.length == 0 || partitions.length > _PARTITIONS_MAX) {
            revert PartitionCountOutOfRange(partitions.length);
        }
        _requireFitting(cap);
        $.symbol = symbol;
        emit TokenInitialized(offeringId(), symbol, cap, partitions.length);
        TotalWord total = TotalWord.wrap(0).withCap(cap);
        for (uint256 i; i < partitions.length; ++i) {
            total = _create(total, i + 1, partitions[i]);
        }
        $.total = total;
    }

    /// @inheritdoc IPlatformSecurityToken7518
    /// @dev Read from the clone's code, where the factory put it. So it cannot change and needs no storage.
    function offeringId() public view override returns (bytes32) {
        return address(this) == _SELF ? bytes32(0) : bytes32(Clones.fetchCloneArgs(address(this)));
    }

    /// @inheritdoc IPlatformSecurityToken7518
    function tokenSymbol() external view returns (string memory) {
        return TokenStorage.state().symbol;
    }

    /// @inheritdoc IERC7943MultiToken
    function canTransfer(address from, address to, uint256 tokenId, uint256 amount) external view returns (bool) {
        return from != address(0) && _refusal(from, to, tokenId, amount) == Reasons.ALLOWED;
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IERC165).interfaceId || interfaceId == type(IERC1155).interfaceId
            || interfaceId == type(IERC7943MultiToken).interfaceId || interfaceId == _ERC7518_ID;
    }
}
