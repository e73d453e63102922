// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRule144} from "./interfaces/IRule144.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

/// @title LotBook
/// @notice A list of units with a time: a holder's lots, or an affiliate's sales.
/// @dev A queue with one word per entry and one word for the queue itself. Units of one day share an entry, so a book
/// grows by at most one entry a day. `Rule144` deletes two old entries with each new lot, so nobody can make it long.
library LotBook {
    using SafeCast for uint256;

    /// @dev The entries are `head` to `tail - 1`. `free` units have no time and are used first. `held` is the sum of the
    /// entries.
    struct Book {
        uint32 head;
        uint32 tail;
        uint96 free;
        uint96 held;
        mapping(uint256 index => IRule144.Lot) entries;
    }

    /// @notice Adds units. Time 0 means free.
    function add(Book storage book, uint256 units, uint256 time) internal {
        uint96 more = units.toUint96();
        if (time == 0) {
            book.free += more;
            return;
        }
        uint32 tail = book.tail;
        book.held += more;
        if (book.head < tail) {
            IRule144.Lot storage last = book.entries[tail - 1];
            if (last.acquiredAt / 1 days == time / 1 days) {
                last.units += more;
                // A forced transfer can add an earlier time. The later time holds for both.
                if (time > last.acquiredAt) last.acquiredAt = time.toUint40();
                return;
            }
        }
        book.entries[tail] = IRule144.Lot({units: more, acquiredAt: time.toUint40()});
        book.tail = tail + 1;
    }

    /// @notice Takes units of one time. Repeat the call until all units are taken.
    /// @return taken Units taken, at most `units`; zero if the book is empty.
    /// @return time Their time, 0 for free units.
    function take(Book storage book, uint256 units) internal returns (uint256 taken, uint256 time) {
        uint96 free = book.free;
        if (free != 0) {
            taken = units < free ? units : free;
            book.free = free - taken.toUint96();
            return (taken, 0);
        }
        (uint32 head, uint32 tail) = (book.head, book.tail);
        while (head < tail && book.entries[head].units == 0) delete book.entries[head++];
        book.head = head;
        if (head == tail) return (0, 0);
        IRule144.Lot storage entry = book.entries[head];
        (uint96 available, uint40 acquiredAt) = (entry.units, entry.acquiredAt);
        taken = units < available ? units : available;
        book.held -= taken.toUint96();
        if (taken == available) {
            delete book.entries[head];
            book.head = head + 1;
        } else {
            entry.units = available - taken.toUint96();
        }
        return (taken, acquiredAt);
    }

    /// @notice Removes at most `steps` entries from the front whose time is `cutoff` or earlier.
    /// @return units The units removed.
    function settle(Book storage book, uint256 cutoff, uint256 steps) internal returns (uint256 units) {
        (uint32 head, uint32 tail) = (book.head, book.tail);
        for (; steps != 0 && head < tail && book.entries[head].acquiredAt <= cutoff; --steps) {
            units += book.entries[head].units;
            delete book.entries[head++];
        }
        book.head = head;
        book.held -= units.toUint96();
    }

    /// @notice Removes the units of every entry with exactly this time.
    /// @return units The units removed.
    function removeAt(Book storage book, uint256 time) internal returns (uint256 units) {
        (uint256 head, uint256 tail) = (book.head, book.tail);
        for (uint256 i = head; i < tail; ++i) {
            if (book.entries[i].acquiredAt != time) continue;
            units += book.entries[i].units;
            book.entries[i].units = 0;
        }
        book.held -= units.toUint96();
    }

    /// @notice Returns the sum of all units.
    function total(Book storage book) internal view returns (uint256) {
        return uint256(book.free) + book.held;
    }

    /// @notice Returns the sum of the entries later than `cutoff`. The entries must be in the order of time, as sales are.
    function sumSince(Book storage book, uint256 cutoff) internal view returns (uint256 units) {
        (uint256 head, uint256 tail) = (book.head, book.tail);
        units = book.held;
        for (uint256 i = head; i < tail && book.entries[i].acquiredAt <= cutoff; ++i) {
            units -= book.entries[i].units;
        }
    }

    /// @notice Returns the entries in the order of their use.
    function list(Book storage book) internal view returns (IRule144.Lot[] memory lots) {
        (uint256 head, uint256 tail) = (book.head, book.tail);
        lots = new IRule144.Lot[](tail - head);
        for (uint256 i = 0; i < lots.length; ++i) {
            lots[i] = book.entries[head + i];
        }
    }
}
