// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace tunesmith {

// Scratch memory of kernels: a std::vector whose bytes count in the budget of values (memory_budget.h). It throws OutOfValueMemory where they do
// not fit. Kernels use it for buffers that may be larger than their inputs and outputs.
void claimScratch(std::size_t bytes);
void releaseScratch(std::size_t bytes) noexcept;

template <class T> struct ScratchAllocator {
    using value_type = T;
    ScratchAllocator() = default;
    template <class Other> ScratchAllocator(const ScratchAllocator<Other>& /*same*/) {}

    T* allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / sizeof(T))
            throw std::bad_array_new_length();
        claimScratch(count * sizeof(T));
        try {
            return static_cast<T*>(::operator new(count * sizeof(T)));
        } catch (...) {
            releaseScratch(count * sizeof(T));
            throw;
        }
    }
    void deallocate(T* begin, std::size_t count) noexcept {
        releaseScratch(count * sizeof(T));
        ::operator delete(begin);
    }
    template <class Other> bool operator==(const ScratchAllocator<Other>& /*same*/) const { return true; }
};

template <class T> using Scratch = std::vector<T, ScratchAllocator<T>>;

} // namespace tunesmith
