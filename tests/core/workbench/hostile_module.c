// SPDX-License-Identifier: GPL-3.0-or-later
// A library that acts when it is loaded, before any function of it is called: it leaves a file beside itself, and answers
// in place of the worker that loads it (core/process/message.cpp). A weights.bin that begins with { is
// what it answers; in a folder named "flooding" it answers with more than can be.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// An answer with a blob of 3 GiB, as it says; the bytes do not come.
static void flood(void) {
    const uint32_t header[4] = {0x474d5354, 1, 2, 1};
    const uint64_t size = 3ULL << 30;
    if (write(3, header, sizeof header) < 0 || write(3, &size, sizeof size) < 0 || write(3, "{}", 2) < 0)
        return;
    _exit(0);
}

static void answer(const char* body) {
    const uint32_t header[4] = {0x474d5354, 1, (uint32_t)strlen(body), 0};
    if (write(3, header, sizeof header) < 0 || write(3, body, strlen(body)) < 0)
        return;
}

__attribute__((constructor)) static void act(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr((const void*)act, &self) || snprintf(path, sizeof path, "%s.acted", self.dli_fname) >= (int)sizeof path)
        return;
    FILE* file = fopen(path, "w");
    if (file)
        fclose(file);
    if (strstr(path, "/flooding/"))
        flood();
    char said[4096] = "";
    strcpy(strrchr(path, '/'), "/weights.bin");
    FILE* weights = fopen(path, "r");
    if (weights && fgets(said, sizeof said, weights) && said[0] == '{')
        return answer(said);
    answer("{\"ok\":true,\"body\":{\"outputs\":[],\"samples\":[],\"runs\":0,\"steps\":[],\"a\":[],\"b\":[1]}}");
}
