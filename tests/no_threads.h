// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

// For one source file of a test program: threads that the system does not give.
namespace tunesmith::testing {

inline thread_local bool noThreads = false; // to this one, as at the limit of processes

} // namespace tunesmith::testing

// Comes before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return tunesmith::testing::noThreads ? EAGAIN : real(thread, attributes, work, argument);
}
