// SPDX-License-Identifier: GPL-3.0-or-later
#include "cpu_check.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan_tables.h"

typedef struct Features {
    uint32_t basic;    /* leaf 1, ecx */
    uint32_t extended; /* leaf 7, ebx */
    uint32_t amd;      /* leaf 0x80000001, ecx */
    uint64_t state;    /* XCR0: which registers the operating system saves */
} Features;

static Features read_features(void) {
    Features features = {0};
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d))
        features.basic = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        features.extended = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        features.amd = c;
    if (features.basic & bit_OSXSAVE) {
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        features.state = (uint64_t)high << 32 | low;
    }
    return features;
}

static bool all_of(uint64_t value, uint64_t bits) {
    return (value & bits) == bits;
}

static int limit_from_environment(void) {
    const char* text = getenv("TUNESMITH_CPU_LIMIT");
    if (text && strcmp(text, "baseline") == 0)
        return TS_ISA_BASELINE;
    return text && strcmp(text, "v3") == 0 ? TS_ISA_V3 : TS_ISA_V4;
}

int ts_cpu_level(void) {
    const uint32_t basic3 = bit_SSE3 | bit_SSSE3 | bit_FMA | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 |
                            bit_MOVBE | bit_POPCNT | bit_OSXSAVE | bit_AVX | bit_F16C;
    const uint32_t extended3 = bit_BMI | bit_AVX2 | bit_BMI2;
    const uint32_t extended4 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    const Features features = read_features();
    int level = TS_ISA_BASELINE;
    if (all_of(features.basic, basic3) && all_of(features.extended, extended3) &&
        all_of(features.amd, bit_LZCNT) && all_of(features.state, 0x06)) {
        level = TS_ISA_V3;
        if (all_of(features.extended, extended4) && all_of(features.state, 0xe6))
            level = TS_ISA_V4;
    }
    const int limit = limit_from_environment();
    return level < limit ? level : limit;
}

static int64_t byte_dots(void) {
    int64_t dots = 0;
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_AVX512VNNI))
        dots |= TS_ISA_AVX512_VNNI;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & bit_AVXVNNI))
        dots |= TS_ISA_AVX_VNNI;
    return dots;
}

int ts_cpu_runs(int64_t isa) {
    return ts_cpu_level() >= (isa & TS_ISA_LEVEL) && all_of((uint64_t)byte_dots(), (uint64_t)(isa & ~TS_ISA_LEVEL));
}
