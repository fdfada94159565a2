// SPDX-License-Identifier: GPL-3.0-or-later
/* What a shared library needs to hold C++ code of its own, where no compiler's start files are linked in: the handle by
 * which its destructors are registered, and running them when it is unloaded. */

extern void __cxa_finalize(void* handle);
extern void tunesmith_free_exceptions(void) __asm__("_ZN9__gnu_cxx9__freeresEv"); /* libstdc++'s reserve */

__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

__attribute__((destructor)) static void unload(void) {
    __cxa_finalize(&__dso_handle);
    tunesmith_free_exceptions();
}
