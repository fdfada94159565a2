// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// GCC names a sanitizer by a macro, Clang by a feature.
#if !defined(__has_feature)
#define TUNESMITH_HAS_FEATURE(name) 0
#else
#define TUNESMITH_HAS_FEATURE(name) __has_feature(name)
#endif

namespace tunesmith {

// Whether the program runs under the address or the thread sanitizer. Their shadow memory is terabytes of writable
// addresses, so limits of memory do not hold, and nothing is as quick.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || TUNESMITH_HAS_FEATURE(address_sanitizer) || TUNESMITH_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

} // namespace tunesmith

#undef TUNESMITH_HAS_FEATURE
