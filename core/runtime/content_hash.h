// SPDX-License-Identifier: GPL-3.0-or-later
/* A 64-bit hash of a file's bytes, to tell damage and mix-ups (not attacks). Four independent lanes, because
 * a module hashes all its weights each time that it is loaded. Used by the exporter (C++) and by exported
 * modules (C). */
#ifndef TUNESMITH_CONTENT_HASH_H
#define TUNESMITH_CONTENT_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t ts_hash_mix(uint64_t state, uint64_t word) {
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ (state >> 29);
}

static inline uint64_t ts_content_hash(const void* data, size_t size) {
    const unsigned char* at = (const unsigned char*)data;
    uint64_t lanes[4] = {1, 2, 3, 4};
    uint64_t hash = size;
    size_t left = size;
    for (; left >= 32; left -= 32, at += 32) {
        uint64_t words[4];
        memcpy(words, at, 32);
        for (int lane = 0; lane < 4; ++lane)
            lanes[lane] = ts_hash_mix(lanes[lane], words[lane]);
    }
    for (int lane = 0; lane < 4; ++lane)
        hash = ts_hash_mix(hash, lanes[lane]);
    for (; left > 0; --left, ++at)
        hash = ts_hash_mix(hash, *at);
    return ts_hash_mix(hash, hash >> 32);
}

#endif
