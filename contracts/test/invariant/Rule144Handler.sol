// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Vm} from "../Vm.sol";

/// @dev Mints, transfers, force-transfers and recovers units of a partition with Rule 144 while time passes, and records
/// when each holder acquired units.
contract Rule144Handler {
    uint256 public constant PARTITION = 1;

    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    PlatformSecurityToken7518 public immutable TOKEN;
    Rule144 public immutable RULE;

    address[] public wallets;
    uint256 public transfers;
    bool public youngUnitsLeft;
    bool public beyondVolume;

    struct Acquisition {
        uint256 units;
        uint256 time;
    }

    uint256 private _now;
    uint256 private _lastOpId;
    mapping(address holder => Acquisition[]) private _acquired;
    mapping(address holder => bool) private _forced;

    constructor(PlatformSecurityToken7518 token, Rule144 rule) {
        TOKEN = token;
        RULE = rule;
        _now = block.timestamp;
        for (uint256 i = 0; i < 5; ++i) {
            wallets.push(_newWallet());
        }
    }

    modifier inTime(uint256 passes) {
        // Mostly days, so that a holder has lots of several ages. The handler keeps the time, because warps do not last.
        _now += passes % 60 days;
        VM.warp(_now);
        _;
    }

    function mint(uint256 passes, uint256 wallet, uint256 units) external inTime(passes) {
        bytes32[] memory lines = new bytes32[](1);
        units = 1 + units % 1e6;
        address to = _wallet(wallet);
        lines[0] = bytes32(abi.encodePacked(to, uint96(units)));
        try TOKEN.mintPage(_lastOpId + 1, PARTITION, 0, lines) {
            ++_lastOpId;
            _acquired[to].push(Acquisition(units, _now));
        } catch {}
    }

    function transfer(uint256 passes, uint256 fromWallet, uint256 toWallet, uint256 units) external inTime(passes) {
        (address from, address to) = (_wallet(fromWallet), _wallet(toWallet));
        uint256 balance = TOKEN.balanceOf(from, PARTITION);
        if (balance == 0) return;
        units = 1 + units % balance;
        uint256 volume = RULE.volumeLeft(address(TOKEN), from, PARTITION);
        VM.prank(from);
        try TOKEN.safeTransferFrom(from, to, PARTITION, units, "") {
            ++transfers;
            if (units > volume) beyondVolume = true;
            // A transfer to self keeps the lots.
            if (from == to) return;
            if (!_forced[from]) _noteYoung(from);
            _acquired[to].push(Acquisition(units, _now));
        } catch {}
    }

    function force(uint256 passes, uint256 fromWallet, uint256 toWallet, uint256 units) external inTime(passes) {
        (address from, address to) = (_wallet(fromWallet), _wallet(toWallet));
        uint256 balance = TOKEN.balanceOf(from, PARTITION);
        if (balance == 0 || from == to || TOKEN.successorOf(from) != address(0)) return;
        TOKEN.freezeAddress(from, "");
        try TOKEN.forceTransfer(from, to, PARTITION, 1 + units % balance, abi.encode(_lastOpId + 1)) {
            ++_lastOpId;
            // The rule decides which units left, so the records of this holder are no longer valid.
            _forced[from] = true;
        } catch {}
        TOKEN.unFreeze(from, "");
    }

    function recover(uint256 passes, uint256 wallet) external inTime(passes) {
        if (wallets.length == 15) return;
        (address lost, address replacement) = (_wallet(wallet), _newWallet());
        try TOKEN.recoveryAddress(lost, replacement, _lastOpId + 1) {
            ++_lastOpId;
            wallets.push(replacement);
            _acquired[replacement] = _acquired[lost];
            _forced[replacement] = _forced[lost];
        } catch {}
    }

    function setAffiliate(uint256 wallet, bool affiliate) external {
        RULE.setAffiliate(address(TOKEN), _wallet(wallet), affiliate);
    }

    function setReporting(bool reporting) external {
        VM.warp(_now);
        RULE.setIssuerStatus(address(TOKEN), IRule144.IssuerStatus(reporting ? uint40(_now) : 0, false));
    }

    function removeLegend(uint256 wallet, uint256 lot) external {
        address holder = _wallet(wallet);
        (, IRule144.Lot[] memory lots) = RULE.lotsOf(address(TOKEN), holder, PARTITION);
        if (lots.length == 0) return;
        try RULE.removeLegend(address(TOKEN), PARTITION, holder, lots[lot % lots.length].acquiredAt, "opinion") {
            _forced[holder] = true;
        } catch {}
    }

    function walletCount() external view returns (uint256) {
        return wallets.length;
    }

    /// @dev Units acquired within the shortest holding period cannot have been sold.
    function _noteYoung(address holder) private {
        uint256 young = 0;
        for (uint256 i = 0; i < _acquired[holder].length; ++i) {
            Acquisition memory acquisition = _acquired[holder][i];
            if (acquisition.time + RULE.HOLDING_REPORTING() > _now) young += acquisition.units;
        }
        if (TOKEN.balanceOf(holder, PARTITION) < young) youngUnitsLeft = true;
    }

    function _wallet(uint256 seed) private view returns (address) {
        return wallets[seed % wallets.length];
    }

    function _newWallet() private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("ruled", wallets.length)))));
    }
}
