// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {Rule144} from "../../src/Rule144.sol";
import {IRule144} from "../../src/interfaces/IRule144.sol";
import {Vm} from "../Vm.sol";

/// @dev Mints, transfers, force-transfers, redeems and recovers units of a partition with Rule 144 while time passes, and
/// records when each holder acquired units. `done` counts the calls that succeeded.
contract Rule144Handler {
    uint256 public constant PARTITION = 1;

    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    PlatformSecurityToken7518 public immutable TOKEN;
    Rule144 public immutable RULE;

    address[] public wallets;
    mapping(bytes32 what => uint256) public done;
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
        address to = _living(wallet);
        lines[0] = bytes32(abi.encodePacked(to, uint96(units)));
        try TOKEN.mintPage(_lastOpId + 1, PARTITION, 0, lines) {
            ++_lastOpId;
            _acquired[to].push(Acquisition(units, _now));
            ++done["mint"];
        } catch {}
    }

    function transfer(uint256 passes, uint256 fromWallet, uint256 toWallet, uint256 units) external inTime(passes) {
        (address from, address to) = (_holder(fromWallet), _living(toWallet));
        uint256 balance = TOKEN.balanceOf(from, PARTITION);
        if (balance == 0) return;
        units = 1 + units % balance;
        if (passes % 4 == 1) RULE.setAffiliate(address(TOKEN), from, true);
        uint256 volume = RULE.volumeLeft(address(TOKEN), from, PARTITION);
        if (passes % 4 != 0) {
            if (units > volume && volume != 0) units = volume;
            _prepare(from, to, units);
            volume = RULE.volumeLeft(address(TOKEN), from, PARTITION);
        }
        VM.prank(from);
        try TOKEN.safeTransferFrom(from, to, PARTITION, units, "") {
            ++done["transfer"];
            if (RULE.isAffiliate(address(TOKEN), from)) ++done["affiliate transfer"];
            if (units > volume) beyondVolume = true;
            // A transfer to self keeps the lots.
            if (from == to) return;
            if (!_forced[from]) _noteYoung(from);
            _acquired[to].push(Acquisition(units, _now));
        } catch {}
    }

    function force(uint256 passes, uint256 fromWallet, uint256 toWallet, uint256 units) external inTime(passes) {
        (address from, address to) = (_holder(fromWallet), _living(toWallet));
        uint256 balance = TOKEN.balanceOf(from, PARTITION);
        if (balance == 0 || from == to) return;
        TOKEN.freezeAddress(from, "");
        try TOKEN.forceTransfer(from, to, PARTITION, 1 + units % balance, abi.encode(_lastOpId + 1)) {
            ++_lastOpId;
            // The rule decides which units left, so the records of this holder are no longer valid.
            _forced[from] = true;
            ++done["force"];
        } catch {}
        TOKEN.unFreeze(from, "");
    }

    function redeem(uint256 passes, uint256 wallet, uint256 units) external inTime(passes) {
        address holder = _holder(wallet);
        uint256 balance = TOKEN.balanceOf(holder, PARTITION);
        if (balance == 0) return;
        try TOKEN.redeem(_lastOpId + 1, holder, PARTITION, 1 + units % balance) {
            ++_lastOpId;
            _forced[holder] = true;
            ++done["redeem"];
        } catch {}
    }

    function recover(uint256 passes, uint256 wallet) external inTime(passes) {
        if (wallets.length == 15) return;
        (address lost, address replacement) = (_living(wallet), _newWallet());
        try TOKEN.recoveryAddress(lost, replacement, _lastOpId + 1) {
            ++_lastOpId;
            wallets.push(replacement);
            _acquired[replacement] = _acquired[lost];
            _forced[replacement] = _forced[lost];
            ++done["recover"];
        } catch {}
    }

    function setAffiliate(uint256 wallet, uint256 chance) external {
        RULE.setAffiliate(address(TOKEN), _holder(wallet), chance % 4 != 0);
    }

    function setReporting(uint256 chance) external {
        VM.warp(_now);
        RULE.setIssuerStatus(address(TOKEN), IRule144.IssuerStatus(chance % 2 == 0 ? uint40(_now) : 0, false));
    }

    function removeLegend(uint256 wallet, uint256 lot) external {
        address holder = _holder(wallet);
        (, IRule144.Lot[] memory lots) = RULE.lotsOf(address(TOKEN), holder, PARTITION);
        if (lots.length == 0) return;
        try RULE.removeLegend(address(TOKEN), PARTITION, holder, lots[lot % lots.length].acquiredAt, "opinion") {
            _forced[holder] = true;
            ++done["remove legend"];
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

    /// @dev Removes what would refuse the transfer, and waits for the holding period. Without it few transfers succeed.
    function _prepare(address from, address to, uint256 units) private {
        address[] memory holders = new address[](1);
        holders[0] = to;
        TOKEN.batchWhitelist(PARTITION, holders, true);
        TOKEN.unFreeze(from, "");
        TOKEN.unFreeze(to, "");
        uint256 served = RULE.earliestTransferTime(address(TOKEN), from, PARTITION, units);
        if (served <= _now || served == type(uint256).max) return;
        _now = served;
        VM.warp(_now);
    }

    /// @dev The first wallet from `seed` on that is not retired. A replacement is living, so there is one.
    function _living(uint256 seed) private view returns (address wallet) {
        for (uint256 i = 0; i < wallets.length; ++i) {
            wallet = wallets[(seed % wallets.length + i) % wallets.length];
            if (TOKEN.successorOf(wallet) == address(0)) return wallet;
        }
    }

    /// @dev The first wallet from `seed` on that holds units, or any living one.
    function _holder(uint256 seed) private view returns (address) {
        for (uint256 i = 0; i < wallets.length; ++i) {
            address wallet = wallets[(seed % wallets.length + i) % wallets.length];
            if (TOKEN.balanceOf(wallet, PARTITION) != 0) return wallet;
        }
        return _living(seed);
    }

    function _newWallet() private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("ruled", wallets.length)))));
    }
}
