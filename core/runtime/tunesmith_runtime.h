// SPDX-License-Identifier: GPL-3.0-or-later
/* What an instance of a model is, for the files of the runtime. The public interface is model_interface.h;
 * its functions are compiled under the prefix MODEL_ and get the model's own prefix when a module is linked.
 */
#ifndef TUNESMITH_RUNTIME_H
#define TUNESMITH_RUNTIME_H
#include <stdatomic.h>
#include <stdbool.h>

#include "memory.h"
#include "model_interface.h"
#include "plan_tables.h"
#include "reference_steps.h"
#include "thread_pool.h"

enum { TS_MESSAGE_BYTES = 512 };

struct MODEL_instance {
    TsPool* pool; /* NULL with one thread */
    int threads;
    TsMapping memory, weights;
    TsReference* reference; /* NULL where every step is a kernel */
    void** buffers;   /* address of each buffer of the plan */
    void** arguments; /* of all steps, one after another */
    int64_t* step_nanoseconds;
    bool* input_set;
    bool profiling, has_run, profiled;
    atomic_flag running;
    char message[TS_MESSAGE_BYTES];
};

bool ts_run_step(MODEL_instance* instance, int64_t index); /* false: the message says why not */

#endif
