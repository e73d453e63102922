// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformSecurityToken7518} from "../../src/PlatformSecurityToken7518.sol";
import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";

/// @dev Has every role and acts as agents, holders and a hostile asset, in any order. It records every payment. A call
/// that the distributor refuses is a valid result; `done` counts the successes, so that a campaign cannot pass by trying only.
contract DistributorHandler {
    uint256 public constant DISTRIBUTIONS_MAX = 14;
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
    bool public withheldInAnOutage;
    mapping(bytes32 what => uint256) public done;

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
    function create(uint256 seed) public {
        uint256 number = count;
        if (number == DISTRIBUTIONS_MAX) return;
        count = number + 1;
        uint256 total = 0;
        for (uint256 i = 0; i < LINES; ++i) {
            uint256 amount = 1 + uint256(keccak256(abi.encode(seed, i))) % 1e9;
            _lists[number].push(_line(wallets[i % HOLDERS], amount));
            total += amount;
        }
        COIN.mint(address(this), total);
        pulled += total;
        bytes32 commitment = tailFrom(number, 0);
        DISTRIBUTOR.createDistribution(id(number), address(TOKEN), address(COIN), total, LINES, commitment, 0);
        ++done["create"];
    }

    /// @dev Creates a list if none is open, so that the campaign does not spend its calls on nothing. Few lists get most pages, so
    /// that some are completed. A page that met an outage of the asset is sent again after it.
    function payNextPage(uint256 number, uint256 length) external {
        if (_unfinished(number) == type(uint256).max) create(length);
        number = _unfinished(number % 3);
        if (number == type(uint256).max) return;
        IPlatformYieldDistributor.Distribution memory state = DISTRIBUTOR.distribution(id(number));
        uint256 left = LINES - state.next;
        uint256 end = length % 4 == 1 ? LINES : state.next + 1 + length % (left < 8 ? left : 8);
        if (length % 4 == 0) COIN.setPaused(true);
        if (_payPage(number, end) || !COIN.paused()) return;
        ++done["outage"];
        COIN.setPaused(false);
        _payPage(number, end);
    }

    /// @dev Pays any page but the next one, or the next one with a wrong line or a wrong tail. The amount of a wrong line may
    /// be all that is left.
    function payWrongPage(uint256 number, uint256 from, uint256 wrong, uint256 what) external {
        if (_unfinished(number) == type(uint256).max) create(wrong);
        number = _unfinished(number);
        if (number == type(uint256).max) return;
        IPlatformYieldDistributor.Distribution memory state = DISTRIBUTOR.distribution(id(number));
        if (what % 5 != 0) from = state.next;
        else from %= LINES;
        uint256 end = from + 1 + wrong % (LINES - from);
        bytes32[] memory lines = _slice(number, from, end);
        bytes32 tail = tailFrom(number, end);
        if (from == state.next) {
            if (what % 4 == 0) lines[wrong % lines.length] ^= bytes32(1 + (wrong >> 8) % 7);
            else if (what % 4 == 1) lines[wrong % lines.length] = _line(wallets[0], state.total - state.allocated);
            else if (what % 4 == 2) tail = bytes32(wrong | 1);
            else tail = tailFrom(number, end == LINES ? from : end + 1);
        }
        try DISTRIBUTOR.payoutForDistribution(id(number), from, tail, lines) {
            // A list of one line that gets the whole rest is the declared one.
            if (from != state.next || keccak256(abi.encode(tail, lines)) != _rightPage(number, from, end)) {
                acceptedAWrongPage = true;
            }
        } catch {
            ++done["wrong page"];
        }
    }

    /// @dev In seven of eight calls the cause is gone.
    function claim(uint256 number, uint256 wallet, uint256 chance) external {
        number = _withholding(number);
        wallet = _withheldFrom(number, wallet);
        if (chance % 8 != 0) _makePayable(wallet);
        uint256[] memory before = _balancesOfFrozen();
        try DISTRIBUTOR.claimWithheld(id(number), wallets[wallet]) {
            ++done["claim"];
        } catch {}
        _noteFrozen(before);
    }

    /// @dev Claims for two wallets, one of them twice. The cause is gone for the first one.
    function claimPage(uint256 number, uint256 wallet) external {
        number = _withholding(number);
        wallet = _withheldFrom(number, wallet);
        _makePayable(wallet);
        uint256[] memory before = _balancesOfFrozen();
        address[] memory accounts = new address[](3);
        for (uint256 i = 0; i < accounts.length; ++i) {
            accounts[i] = wallets[(wallet + i % 2) % wallets.length];
        }
        try DISTRIBUTOR.batchClaimWithheld(id(number), accounts) {
            ++done["claim page"];
        } catch {}
        _noteFrozen(before);
    }

    function cancel(uint256 number, uint256 chance) external {
        if (count == 0 || chance % 2 != 0) return;
        if (_unfinished(number) != type(uint256).max) number = _unfinished(number);
        COIN.setPaused(false);
        uint256 before = COIN.balanceOf(address(this));
        try DISTRIBUTOR.cancelDistribution(id(number % count)) {
            returned += COIN.balanceOf(address(this)) - before;
            ++done["cancel"];
        } catch {}
    }

    /// @dev The asset stops for everybody, or works again.
    function setPaused(uint256 chance) external {
        COIN.setPaused(chance % 2 == 0);
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
            ++done["recover"];
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

    /// @dev The rolled hash of a declared list from index `from` on.
    function tailFrom(uint256 number, uint256 from) public view returns (bytes32 tail) {
        for (uint256 i = LINES; i > from; --i) {
            tail = keccak256(abi.encode(tail, _lists[number][i - 1]));
        }
    }

    function walletCount() external view returns (uint256) {
        return wallets.length;
    }

    function list(uint256 number) external view returns (bytes32[] memory) {
        return _lists[number];
    }

    function _payPage(uint256 number, uint256 end) private returns (bool paid) {
        IPlatformYieldDistributor.Distribution memory state = DISTRIBUTOR.distribution(id(number));
        uint256[] memory before = _balancesOfFrozen();
        try DISTRIBUTOR.payoutForDistribution(
            id(number), state.next, tailFrom(number, end), _slice(number, state.next, end)
        ) {
            paid = true;
            ++done["page"];
            if (end == LINES) ++done["complete"];
            _noteWithheld(number, state.next, state.withheld);
        } catch {}
        _noteFrozen(before);
    }

    function _makePayable(uint256 wallet) private {
        (address payee,) = DISTRIBUTOR.payeeOf(address(TOKEN), wallets[wallet]);
        try TOKEN.unFreeze(payee, "") {} catch {}
        COIN.setMode(payee, HostileCoin.Mode.Honest);
        COIN.setPaused(false);
    }

    function _newWallet() private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("wallet", wallets.length)))));
    }

    function _line(address account, uint256 units) private pure returns (bytes32) {
        return bytes32(abi.encodePacked(account, uint96(units)));
    }

    /// @dev The first list from `number` on that has lines to pay; the largest number if there is none.
    function _unfinished(uint256 number) private view returns (uint256) {
        for (uint256 i = 0; i < count; ++i) {
            IPlatformYieldDistributor.Distribution memory state =
                DISTRIBUTOR.distribution(id((number % count + i) % count));
            if (!state.cancelled && state.next < LINES) return (number % count + i) % count;
        }
        return type(uint256).max;
    }

    /// @dev The first list from `number` on that withholds something.
    function _withholding(uint256 number) private view returns (uint256) {
        number %= DISTRIBUTIONS_MAX;
        for (uint256 i = 0; i < DISTRIBUTIONS_MAX; ++i) {
            uint256 candidate = (number + i) % DISTRIBUTIONS_MAX;
            if (DISTRIBUTOR.distribution(id(candidate)).withheld != 0) return candidate;
        }
        return number;
    }

    /// @dev The first wallet from `wallet` on that a claim could be made for.
    function _withheldFrom(uint256 number, uint256 wallet) private view returns (uint256) {
        wallet %= wallets.length;
        for (uint256 i = 0; i < wallets.length; ++i) {
            uint256 candidate = (wallet + i) % wallets.length;
            if (DISTRIBUTOR.withheldOf(id(number), wallets[candidate]) != 0) return candidate;
        }
        return wallet;
    }

    function _rightPage(uint256 number, uint256 from, uint256 end) private view returns (bytes32) {
        return keccak256(abi.encode(tailFrom(number, end), _slice(number, from, end)));
    }

    /// @dev In an outage a page may withhold frozen payees only, and only if it has no others.
    function _noteWithheld(uint256 number, uint256 from, uint256 before) private {
        IPlatformYieldDistributor.Distribution memory state = DISTRIBUTOR.distribution(id(number));
        if (state.withheld != before) ++done["withhold"];
        if (!COIN.paused()) return;
        for (uint256 i = from; i < state.next; ++i) {
            if (!TOKEN.isFrozen(address(bytes20(_lists[number][i])))) withheldInAnOutage = true;
        }
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
