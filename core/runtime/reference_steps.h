// SPDX-License-Identifier: GPL-3.0-or-later
/* The steps that are no kernels: nodes that Tunesmith's reference kernels (core/ops, C++) compute in an exported module,
 * with memory that they allocate when they run. Modules without such steps hold none of it. No exception leaves these
 * functions; what went wrong is a sentence in `message`. For one thread at a time per instance. */
#ifndef TUNESMITH_REFERENCE_STEPS_H
#define TUNESMITH_REFERENCE_STEPS_H
#include <stddef.h>
#include <stdint.h>

#include "plan_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TsReference TsReference; /* of one instance */

/* Where an instance keeps its values. Memory that is not `own` and not a dynamic buffer never changes. */
typedef struct TsReferenceMemory {
    void** buffers; /* of the plan; entries of dynamic ones are written by the steps */
    const unsigned char* weights;
    const unsigned char* own; /* arena, inputs and outputs */
    size_t own_bytes;
} TsReferenceMemory;

typedef struct TsReferenceKernels {
    TsReference* (*create)(const TsModule* module, const TsReferenceMemory* memory, char* message, size_t size); /* or NULL */
    void (*destroy)(TsReference* reference); /* NULL is allowed */
    int (*run)(TsReference* reference, int64_t step, char* message, size_t size); /* 0, or -1 */
    /* Of a dynamic buffer after its step; -1 before. */
    int64_t (*rank)(const TsReference* reference, int64_t buffer);
    const int64_t* (*dims)(const TsReference* reference, int64_t buffer);
    int64_t (*bytes)(const TsReference* reference, int64_t buffer);
} TsReferenceKernels;

extern const TsReferenceKernels ts_reference_kernels;

#ifdef __cplusplus
}
#endif
#endif
