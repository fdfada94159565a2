// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>

// What a text may ask for. Far above what anybody writes by hand, and low enough that no text can exhaust stack, memory or
// the 64 bits of an index.
namespace tunesmith::te {

inline constexpr std::size_t kLargestFile = std::size_t(1) << 20; // bytes
inline constexpr std::size_t kLongestName = 100;
inline constexpr int kDeepestNesting = 64;        // brackets, calls, choices
inline constexpr std::size_t kMostTerms = 2000;   // of one statement: numbers, names and operators
inline constexpr std::size_t kMostStatements = 500;
inline constexpr std::size_t kMostInputs = 200;
inline constexpr std::size_t kMostDimensions = 8; // of one tensor
inline constexpr std::size_t kMostVariables = 32; // of one statement
inline constexpr std::size_t kMostFacts = 32;     // conditions that are remembered about one read
inline constexpr std::int64_t kLargestSize = std::int64_t(1) << 31;
inline constexpr std::int64_t kLargestFactor = std::int64_t(1) << 31;  // of an index variable in an index
inline constexpr std::int64_t kLargestIndex = std::int64_t(1) << 50;
inline constexpr std::int64_t kMostElements = std::int64_t(1) << 40;   // of one tensor
inline constexpr std::int64_t kMostIterations = std::int64_t(1) << 50; // of one statement

} // namespace tunesmith::te
