// SPDX-License-Identifier: GPL-3.0-or-later
// A library that acts when it is loaded, before any function of it is called: it leaves a file beside itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

__attribute__((constructor)) static void act(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr((const void*)act, &self) || snprintf(path, sizeof path, "%s.acted", self.dli_fname) >= (int)sizeof path)
        return;
    FILE* file = fopen(path, "w");
    if (file)
        fclose(file);
}
