// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PlatformYieldDistributor} from "../../src/PlatformYieldDistributor.sol";
import {StipendTransfer} from "../../src/StipendTransfer.sol";
import {IPlatformYieldDistributor} from "../../src/interfaces/IPlatformYieldDistributor.sol";
import {HostileCoin} from "../hostile/HostileCoin.sol";
import {DistributorFixture} from "./DistributorFixture.sol";

/// @dev Pays a page with a given amount of gas and reverts with the result, so that no state changes.
contract GasProbe {
    error Outcome(bool paid, bytes4 reason, uint256 withheld, uint256 gasUsed);

    function probe(PlatformYieldDistributor distributor, bytes32 id, bytes32[] calldata lines, uint256 gasGiven)
        external
    {
        uint256 gasBefore = gasleft();
        (bool paid, bytes memory answer) = address(distributor).call{gas: gasGiven}(
            abi.encodeCall(distributor.payoutForDistribution, (id, 0, 0, lines))
        );
        uint256 gasUsed = gasBefore - gasleft();
        revert Outcome(
            paid, answer.length < 4 ? bytes4(0) : bytes4(answer), distributor.distribution(id).withheld, gasUsed
        );
    }
}

/// @dev A page with too little gas reverts; it never withholds a payee for that reason.
contract DistributorGasCutTest is DistributorFixture {
    uint256 private constant LINES = 5;
    uint256 private constant STEP = 331;

    struct Outcome {
        bool paid;
        bytes4 reason;
        uint256 withheld;
        uint256 gasUsed;
    }

    GasProbe private probe;

    function setUp() public override {
        super.setUp();
        probe = new GasProbe();
        registry.setRoles(address(probe), 4);
        token.setFrozen(_holder(1), true);
        coin.setMode(_holder(3), HostileCoin.Mode.Reverts);
        _createOf(LINES);
    }

    function _probe(uint256 gasGiven) private returns (Outcome memory outcome) {
        try probe.probe(distributor, ID, _lines(0, LINES), gasGiven) {}
        catch (bytes memory reason) {
            (outcome.paid, outcome.reason, outcome.withheld, outcome.gasUsed) =
                abi.decode(_withoutSelector(reason), (bool, bytes4, uint256, uint256));
        }
    }

    function _withoutSelector(bytes memory data) private pure returns (bytes memory tail) {
        tail = new bytes(data.length - 4);
        for (uint256 i = 0; i < tail.length; ++i) {
            tail[i] = data[i + 4];
        }
    }

    function _assertNoFalseWithholding(uint256 gasGiven) private returns (bool paid) {
        Outcome memory outcome = _probe(gasGiven);
        assertEq(outcome.withheld, outcome.paid ? 2 * AMOUNT : 0, "withheld: the frozen and the refused payee only");
        if (!outcome.paid && outcome.reason != 0) {
            assertTrue(outcome.reason == IPlatformYieldDistributor.InsufficientGas.selector, "reason");
        }
        return outcome.paid;
    }

    function testPageWithGasCutToEachAmount() external {
        uint256 enough = _probe(5_000_000).gasUsed + StipendTransfer.GAS_REQUIRED;
        assertTrue(_assertNoFalseWithholding(enough), "enough gas");
        uint256 least = type(uint256).max;
        uint256 most = 0;
        for (uint256 gasGiven = 0; gasGiven <= enough; gasGiven += STEP) {
            bool paid = _assertNoFalseWithholding(gasGiven);
            if (paid && gasGiven < least) least = gasGiven;
            if (!paid) most = gasGiven;
        }
        // Gas estimation is a bisection. It needs one limit: failure below, success above.
        assertLe(most, least, "one boundary");
        for (uint256 gasGiven = most; gasGiven <= least; ++gasGiven) {
            _assertNoFalseWithholding(gasGiven);
        }
    }

    function testFuzzPageWithAnyGas(uint256 gasGiven) external {
        _assertNoFalseWithholding(bound(gasGiven, 0, 2_000_000));
    }

    /// @dev With the least gas that passes the check, the asset still gets its whole stipend.
    function testPaymentReceivesTheWholeStipend() external {
        GasMeter meter = new GasMeter();
        for (uint256 spare = 0; spare < 3000; spare += 7) {
            try this.tryTransferWith(meter, StipendTransfer.GAS_REQUIRED + spare) {
                assertLe(StipendTransfer.STIPEND - 1000, meter.seen(), "stipend");
            } catch {}
        }
        assertTrue(meter.seen() != 0, "some amount passed the check");
    }

    function tryTransferWith(GasMeter meter, uint256 gasGiven) external {
        this.tryTransfer{gas: gasGiven}(meter);
    }

    function tryTransfer(GasMeter meter) external {
        StipendTransfer.tryTransfer(HostileCoin(address(meter)), address(1), 1);
    }
}

/// @dev An asset that records how much gas it received.
contract GasMeter {
    uint256 public seen;

    function transfer(address, uint256) external returns (bool) {
        seen = gasleft();
        return true;
    }
}
