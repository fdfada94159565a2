// SPDX-License-Identifier: GPL-3.0-or-later
/* The two kinds of memory of an instance: its own (zeroed, huge pages where the system gives them) and the
 * weights, mapped read-only so that all instances and processes share them. */
#ifndef TUNESMITH_MEMORY_H
#define TUNESMITH_MEMORY_H
#include <stddef.h>
#include <stdint.h>

typedef struct TsMapping {
    void* base;
    size_t size;
    unsigned char* data; /* aligned start within the mapping */
} TsMapping;

int ts_map_memory(TsMapping* mapping, size_t bytes); /* 0 or an errno */
/* 0, or -1 with a sentence in `message`. The file must have exactly `bytes` bytes of this content hash. */
int ts_map_weights(TsMapping* mapping, const char* path, int64_t bytes, uint64_t hash, char* message,
                   size_t message_size);
void ts_unmap(TsMapping* mapping);

#endif
