// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <new>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// Models of a few bytes may ask for values of gigabytes, and many of them. What values take in this process is therefore counted in one
// place, all together: tensors claim their bytes, engines ask before they compute. Values that lie in mapped files do not count.
// Everything here may be called from any thread.

// Bytes that values may take together. Until a limit is set: three quarters of the memory that the machine, or its control group, has
// left at the first question.
std::int64_t valueMemoryLimit();
void limitValueMemory(std::int64_t bytes);
std::int64_t usedValueMemory();
// Whether so many more bytes fit: into the budget, and where they are many, into what the machine has left.
bool valuesFit(std::int64_t bytes);
// The same as an Error: "node 'a' needs 4.0 GiB of memory for values, of which 0.2 of 1.0 GiB are in use; --memory raises the limit".
Status checkValueMemory(const std::string& who, std::int64_t bytes);

// A claim that does not fit throws this; code that holds values in other ways may check first.
class OutOfValueMemory : public std::bad_alloc {
public:
    const char* what() const noexcept override;
};

// Holds its bytes in the count for as long as it lives.
class ValueMemoryClaim {
public:
    explicit ValueMemoryClaim(std::size_t bytes); // throws OutOfValueMemory
    ~ValueMemoryClaim();
    ValueMemoryClaim(const ValueMemoryClaim&) = delete;
    ValueMemoryClaim& operator=(const ValueMemoryClaim&) = delete;

private:
    std::int64_t bytes_;
};

// "1GiB", "512 MiB", "2" (GiB) in bytes.
Result<std::int64_t> parseMemory(const std::string& text);
std::string memoryText(std::int64_t bytes); // "1.5 GiB"

// Bounds what the process may have in writable memory of its own, values or not: beyond it, allocations fail, which ends a command with
// a sentence, where the kernel would else end some process or other.
void limitProcessMemory(std::int64_t bytes);

} // namespace tunesmith
