// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/hash_order.h"

#include <cstddef>

namespace tunesmith::autotvm {
namespace {

// An open-addressed table of positive numbers that hash to themselves: a run of ten neighbouring places is
// searched, then a place that the higher bits decide. It grows before it is three fifths full.
class NumberTable {
public:
    void insert(std::uint64_t number) {
        if (place(number) && ++used_ * 5 >= mask() * 3)
            resize(used_ * 4);
    }

    void merge(const NumberTable& other) {
        if ((used_ + other.used_) * 5 >= mask() * 3)
            resize((used_ + other.used_) * 2);
        if (used_ == 0 && mask() == other.mask()) {
            *this = other;
            return;
        }
        for (const std::uint64_t number : other.places_)
            if (number != 0)
                insert(number);
    }

    std::vector<std::int64_t> listed() const {
        std::vector<std::int64_t> out;
        for (const std::uint64_t number : places_)
            if (number != 0)
                out.push_back(static_cast<std::int64_t>(number));
        return out;
    }

private:
    std::size_t mask() const { return places_.size() - 1; }

    bool place(std::uint64_t number) { // false: it was there
        constexpr std::size_t kNeighbours = 9;
        std::uint64_t higher = number;
        for (std::size_t at = number & mask();; at = (at * 5 + 1 + higher) & mask()) {
            const std::size_t last = at + kNeighbours <= mask() ? at + kNeighbours : at;
            for (std::size_t i = at; i <= last; ++i) {
                if (places_[i] == number)
                    return false;
                if (places_[i] == 0) {
                    places_[i] = number;
                    return true;
                }
            }
            higher >>= 5;
        }
    }

    void resize(std::size_t least) {
        std::size_t size = 8;
        while (size <= least)
            size *= 2;
        std::vector<std::uint64_t> old(size, 0);
        old.swap(places_);
        for (const std::uint64_t number : old)
            if (number != 0)
                place(number);
    }

    std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(8, 0); // 0: free
    std::size_t used_ = 0;
};

NumberTable tableOf(const std::vector<std::int64_t>& numbers) {
    NumberTable table;
    for (const std::int64_t number : numbers)
        table.insert(static_cast<std::uint64_t>(number));
    return table;
}

} // namespace

std::vector<std::int64_t> unionInHashOrder(const std::vector<std::int64_t>& left,
                                           const std::vector<std::int64_t>& right) {
    NumberTable both; // a copy of the left one, into which the right one goes
    both.merge(tableOf(left));
    both.merge(tableOf(right));
    return both.listed();
}

} // namespace tunesmith::autotvm
