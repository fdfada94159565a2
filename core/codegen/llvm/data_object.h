// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// Constant data as a relocatable ELF object, for tables that a compiler would otherwise have to be called
// for: the plan of an exported module. Everything is a 64-bit word: a number, or the address of a symbol.
struct DataWord {
    std::int64_t value = 0; // the number, or what is added to the address
    std::string symbol;     // a global of the same object or of another one; empty: a number

    DataWord(std::int64_t number) : value(number) {}
    static DataWord addressOf(std::string symbol, std::int64_t offset = 0) {
        DataWord word(offset);
        word.symbol = std::move(symbol);
        return word;
    }
};

struct DataGlobal {
    std::string name; // hidden from everything outside of the shared library
    std::vector<DataWord> words;
    std::string bytes; // after the words: text
};

// Position independent, little-endian, every global 64-byte aligned. Names are distinct.
Result<std::vector<std::byte>> compileData(const std::vector<DataGlobal>& globals);

} // namespace tunesmith
