// SPDX-License-Identifier: GPL-3.0-or-later
/* The compiled model as constant tables, written by core/module/plan_object.cpp and read by
 * tunesmith_runtime.c. Every member takes eight bytes, so that the writer needs no compiler: a table is a
 * list of 64-bit words, some of them addresses. */
#ifndef TUNESMITH_PLAN_TABLES_H
#define TUNESMITH_PLAN_TABLES_H
#include <stdint.h>

typedef void (*TsPhaseFunction)(void** arguments, int64_t begin, int64_t end);

/* A dynamic buffer is memory of the reference steps: of a value whose size nobody knows before it is computed. */
enum { TS_PLACE_ARENA = 0, TS_PLACE_INPUT = 1, TS_PLACE_OUTPUT = 2, TS_PLACE_CONSTANT = 3, TS_PLACE_DYNAMIC = 4 };
/* x86-64 levels, and dot products of bytes as AVX2 and as AVX-512 encode them */
enum { TS_ISA_BASELINE = 0, TS_ISA_V3 = 3, TS_ISA_V4 = 4, TS_ISA_LEVEL = 15, TS_ISA_AVX_VNNI = 16, TS_ISA_AVX512_VNNI = 32 };

typedef struct TsBuffer {
    int64_t place, offset,
        bytes; /* offset: in the arena or in the weights; of inputs and outputs in their own memory */
} TsBuffer;

typedef struct TsPhase {
    TsPhaseFunction function;
    int64_t extent;
} TsPhase;

typedef struct TsStep {
    const char* name;
    int64_t phase_begin, phase_count;       /* in the table of phases */
    int64_t argument_begin, argument_count; /* in the table of arguments: what it reads, then what it makes */
    const unsigned char* node; /* of a step without phases, which the reference kernels compute: what packGraph() made */
    int64_t node_bytes;
} TsStep;

typedef struct TsTensor {
    const char* name;
    const char* type_name;
    const int64_t* dims; /* -1: known after a run only */
    int64_t type, rank, bytes, buffer; /* rank and bytes: likewise */
    int64_t fallback; /* of an input: the buffer that holds its default value, or -1 */
    int64_t index_least, index_most; /* of an input of 32 or 64 bits: where its elements must lie; INT64_MIN to INT64_MAX where it does not matter */
} TsTensor;

struct TsReferenceKernels; /* reference_steps.h */

typedef struct TsModule {
    const char* version;
    const char* isa_name;
    const TsBuffer* buffers;
    const TsPhase* phases;
    const TsStep* steps;
    const int64_t* arguments; /* indices of buffers */
    const TsTensor* inputs;
    const TsTensor* outputs;
    const struct TsReferenceKernels* reference; /* NULL where every step is a kernel */
    int64_t isa, threads;
    int64_t buffer_count, step_count, argument_count, input_count, output_count;
    int64_t arena_bytes, interface_bytes; /* the latter: of all inputs and outputs */
    int64_t weight_bytes, weight_hash;
} TsModule;

extern const TsModule tunesmith_module __attribute__((visibility("hidden")));

#endif
