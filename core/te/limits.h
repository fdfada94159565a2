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

inline constexpr std::size_t kMostKnobs = 32;                     // of one schedule
inline constexpr std::size_t kMostKnobValues = 256;
inline constexpr std::int64_t kMostConfigs = 1 << 16;             // all knobs' values together, before what is required of them
inline constexpr std::size_t kMostRequirements = 32;
inline constexpr std::int64_t kMostSearched = 1 << 24;            // terms, loops and marks of the choices that are tried until one is allowed, in all schedules of a file
inline constexpr std::size_t kMostLoops = 48;                     // loops of a statement and what its schedule makes of them
inline constexpr std::size_t kMostMarks = 48;
inline constexpr std::int64_t kMostLanes = 64;
inline constexpr std::int64_t kMostWrittenOut = 1 << 13;          // operations of a statement times how often unrolling repeats it
inline constexpr std::int64_t kMostVersions = 1 << 20;            // the same, times the bodies that tails and guards may have
inline constexpr std::int64_t kLargestNest = 1 << 17;             // nodes of expressions in the loops that are compiled
inline constexpr std::int64_t kMostAccumulatorBytes = 128 * 1024; // of one block
inline constexpr std::int64_t kMostLocalBytes = 512 * 1024;       // of all blocks of a kernel, on a thread's stack

} // namespace tunesmith::te
