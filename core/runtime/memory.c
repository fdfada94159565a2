// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content_hash.h"

#define HUGE_PAGE ((size_t)2 << 20)

int ts_map_memory(TsMapping* mapping, size_t bytes) {
    const size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE)
        return ENOMEM;
    const size_t size = bytes + alignment;
    void* base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return errno;
    mapping->base = base;
    mapping->size = size;
    mapping->data = (unsigned char*)(((uintptr_t)base + alignment - 1) / alignment * alignment);
    if (alignment == HUGE_PAGE)
        madvise(mapping->data, bytes, MADV_HUGEPAGE);
    return 0;
}

static int check_file(const struct stat* facts, int64_t bytes, const char* path, char* message,
                      size_t message_size) {
    if (!S_ISREG(facts->st_mode))
        snprintf(message, message_size, "%s is not a regular file; export the module again", path);
    else if (facts->st_size != bytes)
        snprintf(message, message_size, "%s has %lld bytes instead of %lld; copy or export the module again",
                 path, (long long)facts->st_size, (long long)bytes);
    else
        return 0;
    return -1;
}

int ts_map_weights(TsMapping* mapping, const char* path, int64_t bytes, uint64_t hash, char* message,
                   size_t message_size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    if (file < 0 || fstat(file, &facts) != 0) {
        snprintf(message, message_size, "cannot read %s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return -1;
    }
    int status = check_file(&facts, bytes, path, message, message_size);
    if (status == 0 && bytes > 0) {
        void* base = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
        if (base == MAP_FAILED) {
            snprintf(message, message_size, "cannot map %s: %s", path, strerror(errno));
            status = -1;
        } else {
            mapping->base = base;
            mapping->size = (size_t)bytes;
            mapping->data = base;
        }
    }
    close(file);
    if (status == 0 && ts_content_hash(mapping->data, (size_t)bytes) != hash) {
        ts_unmap(mapping);
        snprintf(message, message_size,
                 "%s is damaged or belongs to another module; copy or export the module again", path);
        status = -1;
    }
    return status;
}

void ts_unmap(TsMapping* mapping) {
    if (mapping->base)
        munmap(mapping->base, mapping->size);
    memset(mapping, 0, sizeof *mapping);
}
