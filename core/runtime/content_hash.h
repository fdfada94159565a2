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

/* For bytes that come in pieces; the pieces do not matter. */
typedef struct {
    uint64_t lanes[4];
    uint64_t size;
    unsigned char rest[32]; /* what does not fill the lanes yet */
    size_t held;
} TsContentHash;

static inline TsContentHash ts_hash_begin(void) {
    const TsContentHash hash = {{1, 2, 3, 4}, 0, {0}, 0};
    return hash;
}

static inline void ts_hash_block(TsContentHash* hash, const unsigned char* at) {
    uint64_t words[4];
    memcpy(words, at, 32);
    for (int lane = 0; lane < 4; ++lane)
        hash->lanes[lane] = ts_hash_mix(hash->lanes[lane], words[lane]);
}

static inline void ts_hash_add(TsContentHash* hash, const void* data, size_t size) {
    const unsigned char* at = (const unsigned char*)data;
    hash->size += size;
    while (size > 0 && (hash->held > 0 || size < 32)) {
        hash->rest[hash->held++] = *at++;
        --size;
        if (hash->held == 32) {
            ts_hash_block(hash, hash->rest);
            hash->held = 0;
        }
    }
    for (; size >= 32; size -= 32, at += 32)
        ts_hash_block(hash, at);
    if (size > 0)
        memcpy(hash->rest, at, size);
    hash->held += size;
}

static inline uint64_t ts_hash_end(const TsContentHash* state) {
    uint64_t hash = state->size;
    for (int lane = 0; lane < 4; ++lane)
        hash = ts_hash_mix(hash, state->lanes[lane]);
    for (size_t i = 0; i < state->held; ++i)
        hash = ts_hash_mix(hash, state->rest[i]);
    return ts_hash_mix(hash, hash >> 32);
}

static inline uint64_t ts_content_hash(const void* data, size_t size) {
    TsContentHash hash = ts_hash_begin();
    ts_hash_add(&hash, data, size);
    return ts_hash_end(&hash);
}

#endif
