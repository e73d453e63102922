// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DemoCoin} from "../../src/demo/DemoCoin.sol";

/// @dev An ERC-20 that misbehaves for chosen payees, in one way for each.
contract HostileCoin is DemoCoin {
    enum Mode {
        Honest,
        ReturnsFalse,
        ReturnsTwo,
        ReturnsShort,
        Reverts,
        RevertsLong,
        BurnsGas,
        TakesFee,
        ChargesSender,
        Reenters,
        ReturnsNothing,
        ReturnsLong,
        SendsBack,
        MovesNothing
    }

    error Blocked(address to);
    error Paused();

    mapping(address to => Mode) public modeOf;
    bool public paused;
    address public target;
    bytes public reentry;
    bytes public answer;

    constructor() DemoCoin("Hostile", "HOST", 6) {}

    function setMode(address to, Mode mode) external {
        modeOf[to] = mode;
    }

    /// @dev An outage of the whole asset, like the pause of a stablecoin.
    function setPaused(bool paused_) external {
        paused = paused_;
    }

    function setReentry(address target_, bytes calldata reentry_) external {
        target = target_;
        reentry = reentry_;
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        if (paused) revert Paused();
        Mode mode = modeOf[to];
        if (mode == Mode.ReturnsFalse) return false;
        if (mode == Mode.MovesNothing) return true;
        if (mode == Mode.Reverts) revert Blocked(to);
        if (mode == Mode.RevertsLong) _answer(100_000, false);
        if (mode == Mode.BurnsGas) _burnGas();
        if (mode == Mode.Reenters) (, answer) = target.call(reentry);
        super.transfer(to, amount);
        if (mode == Mode.TakesFee) _burn(to, 1);
        if (mode == Mode.ChargesSender) _burn(msg.sender, 1);
        if (mode == Mode.SendsBack) _mint(msg.sender, 1);
        if (mode == Mode.ReturnsNothing) _answer(0, true);
        if (mode == Mode.ReturnsShort) _answer(31, true);
        if (mode == Mode.ReturnsTwo) _answerWord(2);
        if (mode == Mode.ReturnsLong) _answerLong();
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        Mode mode = modeOf[to];
        if (mode == Mode.ReturnsFalse) return false;
        if (mode == Mode.Reenters) (, answer) = target.call(reentry);
        super.transferFrom(from, to, amount);
        if (mode == Mode.TakesFee) _burn(to, 1);
        if (mode == Mode.SendsBack) _mint(to, 1);
        if (mode == Mode.ReturnsNothing) _answer(0, true);
        return true;
    }

    function _burnGas() private pure {
        assembly {
            invalid()
        }
    }

    function _answer(uint256 length, bool good) private pure {
        assembly {
            if good { return(0, length) }
            revert(0, length)
        }
    }

    function _answerWord(uint256 word) private pure {
        assembly {
            mstore(0, word)
            return(0, 32)
        }
    }

    /// @dev Returns true, followed by extra data.
    function _answerLong() private pure {
        assembly {
            mstore(0, 1)
            return(0, 20000)
        }
    }
}
