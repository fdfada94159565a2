// SPDX-License-Identifier: GPL-3.0-or-later
/* Making, running and ending an instance: the interpreter of the plan's tables. */
#define _GNU_SOURCE
#include "tunesmith_runtime.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpu_check.h"

static MODEL_status fail(char* message, size_t size, MODEL_status status, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

static MODEL_status fail(char* message, size_t size, MODEL_status status, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(message, size, format, values);
    va_end(values);
    return status;
}

/* The weights beside the library, as absolute paths: under the name by which the library was loaded, and beside the file
 * that a symbolic link stands for. Found when it is loaded, for a program may change its folder later. */
static char named_weights[PATH_MAX], real_weights[PATH_MAX];

/* False where the path is too long. */
static bool beside(const char* folder, const char* library, char* path) {
    const char* slash = strrchr(library, '/');
    const int length = slash ? (int)(slash - library) + 1 : 0;
    const bool relative = library[0] != '/';
    const int written = snprintf(path, PATH_MAX, "%s%s%.*sweights.bin", relative ? folder : "", relative ? "/" : "", length, library);
    if (written > 0 && written < PATH_MAX)
        return true;
    path[0] = '\0';
    return false;
}

__attribute__((constructor)) static void find_weights(void) {
    char folder[PATH_MAX], library[PATH_MAX];
    Dl_info info;
    if (!dladdr(&tunesmith_module, &info) || !info.dli_fname || !getcwd(folder, sizeof folder))
        return;
    beside(folder, info.dli_fname, named_weights);
    if (realpath(info.dli_fname, library))
        beside(folder, library, real_weights);
}

static MODEL_status weights_path(const char* folder, char* path, size_t size, char* message,
                                 size_t message_size) {
    const char* found = access(named_weights, R_OK) != 0 && real_weights[0] ? real_weights : named_weights;
    if (!folder && !found[0])
        return fail(message, message_size, MODEL_bad_files,
                    "cannot tell the folder of the library; name it to the function that creates instances");
    const int length = folder ? snprintf(path, size, "%s/weights.bin", folder) : snprintf(path, size, "%s", found);
    if (length < 0 || (size_t)length >= size)
        return fail(message, message_size, MODEL_bad_files, "the path of the folder is too long");
    return MODEL_ok;
}

static MODEL_status load_weights(MODEL_instance* instance, const char* folder, char* message,
                                 size_t message_size) {
    char path[PATH_MAX];
    const MODEL_status status = weights_path(folder, path, sizeof path, message, message_size);
    if (status != MODEL_ok)
        return status;
    return ts_map_weights(&instance->weights, path, tunesmith_module.weight_bytes,
                          (uint64_t)tunesmith_module.weight_hash, message, message_size) == 0
               ? MODEL_ok
               : MODEL_bad_files;
}

static void* buffer_address(const MODEL_instance* instance, const TsBuffer* buffer) {
    unsigned char* const own = instance->memory.data;
    switch (buffer->place) {
    case TS_PLACE_ARENA:
        return own + buffer->offset;
    case TS_PLACE_CONSTANT:
        return instance->weights.data + buffer->offset;
    case TS_PLACE_DYNAMIC:
        return NULL;
    default:
        return own + tunesmith_module.arena_bytes + buffer->offset;
    }
}

static MODEL_status allocate(MODEL_instance* instance, char* message, size_t message_size) {
    const TsModule* module = &tunesmith_module;
    const int64_t bytes = module->arena_bytes + module->interface_bytes;
    instance->buffers = calloc((size_t)module->buffer_count + 1, sizeof(void*));
    instance->arguments = calloc((size_t)module->argument_count + 1, sizeof(void*));
    instance->step_nanoseconds = calloc((size_t)module->step_count + 1, sizeof(int64_t));
    instance->input_set = calloc((size_t)module->input_count + 1, sizeof(bool));
    if (!instance->buffers || !instance->arguments || !instance->step_nanoseconds || !instance->input_set ||
        ts_map_memory(&instance->memory, (size_t)bytes) != 0)
        return fail(message, message_size, MODEL_no_memory, "not enough memory for %lld bytes of buffers",
                    (long long)bytes);
    for (int64_t i = 0; i < module->buffer_count; ++i)
        instance->buffers[i] = buffer_address(instance, &module->buffers[i]);
    for (int64_t i = 0; i < module->argument_count; ++i)
        instance->arguments[i] = instance->buffers[module->arguments[i]];
    return MODEL_ok;
}

static MODEL_status prepare_reference(MODEL_instance* instance, char* message, size_t message_size) {
    const TsModule* module = &tunesmith_module;
    if (!module->reference)
        return MODEL_ok;
    const TsReferenceMemory memory = {instance->buffers, instance->weights.data, instance->memory.data,
                                      (size_t)(module->arena_bytes + module->interface_bytes)};
    instance->reference = module->reference->create(module, &memory, message, message_size);
    return instance->reference ? MODEL_ok : MODEL_failed;
}

/* Inputs with a default value have it until they are given another. */
static void set_defaults(MODEL_instance* instance) {
    for (int64_t i = 0; i < tunesmith_module.input_count; ++i) {
        const TsTensor* input = &tunesmith_module.inputs[i];
        if (input->fallback < 0)
            continue;
        if (input->bytes > 0)
            memcpy(instance->buffers[input->buffer], instance->buffers[input->fallback], (size_t)input->bytes);
        instance->input_set[i] = true;
    }
}

static MODEL_status start_threads(MODEL_instance* instance, int threads, char* message, size_t message_size) {
    instance->threads = threads > 0 ? threads : (int)tunesmith_module.threads;
    if (instance->threads < 2)
        return MODEL_ok;
    int error = 0;
    instance->pool = ts_pool_create(instance->threads, &error);
    if (!instance->pool)
        return fail(message, message_size, MODEL_no_threads, "cannot start %d threads: %s", instance->threads,
                    strerror(error));
    return MODEL_ok;
}

static MODEL_status check_call(MODEL_instance** instance, int threads, char* message, size_t message_size) {
    if (!instance)
        return fail(message, message_size, MODEL_bad_argument,
                    "the pointer that receives the instance is NULL");
    *instance = NULL;
    if (threads < 0 || threads > TS_MAX_THREADS)
        return fail(message, message_size, MODEL_bad_argument,
                    "%d threads are not possible; use 1 to %d, or 0 for %lld", threads, TS_MAX_THREADS,
                    (long long)tunesmith_module.threads);
    if (!ts_cpu_runs(tunesmith_module.isa))
        return fail(message, message_size, MODEL_unsupported_cpu,
                    "this processor (or operating system) has no %s, which the module was compiled for; "
                    "compile it for this machine",
                    tunesmith_module.isa_name);
    return MODEL_ok;
}

MODEL_status MODEL_create(MODEL_instance** result, int threads, const char* folder, char* message,
                          size_t message_size) {
    char unused[TS_MESSAGE_BYTES];
    if (!message || message_size == 0) {
        message = unused;
        message_size = sizeof unused;
    }
    message[0] = '\0';
    MODEL_status status = check_call(result, threads, message, message_size);
    if (status != MODEL_ok)
        return status;
    MODEL_instance* instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail(message, message_size, MODEL_no_memory, "not enough memory");
    atomic_flag_clear(&instance->running);
    status = load_weights(instance, folder, message, message_size);
    if (status == MODEL_ok)
        status = allocate(instance, message, message_size);
    if (status == MODEL_ok)
        status = prepare_reference(instance, message, message_size);
    if (status == MODEL_ok)
        set_defaults(instance);
    if (status == MODEL_ok)
        status = start_threads(instance, threads, message, message_size);
    if (status == MODEL_ok)
        *result = instance;
    else
        MODEL_destroy(instance);
    return status;
}

void MODEL_destroy(MODEL_instance* instance) {
    if (!instance)
        return;
    ts_pool_destroy(instance->pool);
    if (instance->reference)
        tunesmith_module.reference->destroy(instance->reference);
    ts_unmap(&instance->memory);
    ts_unmap(&instance->weights);
    free(instance->buffers);
    free(instance->arguments);
    free(instance->step_nanoseconds);
    free(instance->input_set);
    free(instance);
}

static int64_t now_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void run_kernel(MODEL_instance* instance, const TsStep* step) {
    void** arguments = instance->arguments + step->argument_begin;
    for (int64_t i = 0; i < step->phase_count; ++i) {
        const TsPhase* phase = &tunesmith_module.phases[step->phase_begin + i];
        if (instance->pool)
            ts_pool_run(instance->pool, phase->function, arguments, phase->extent);
        else if (phase->extent > 0)
            phase->function(arguments, 0, phase->extent);
    }
}

bool ts_run_step(MODEL_instance* instance, int64_t index) {
    const TsStep* step = &tunesmith_module.steps[index];
    if (step->node)
        return tunesmith_module.reference->run(instance->reference, index, instance->message, TS_MESSAGE_BYTES) == 0;
    run_kernel(instance, step);
    return true;
}

static MODEL_status run_steps(MODEL_instance* instance) {
    const bool profiling = instance->profiling;
    int64_t before = profiling ? now_nanoseconds() : 0;
    instance->has_run = false;
    instance->profiled = false;
    for (int64_t i = 0; i < tunesmith_module.step_count; ++i) {
        if (!ts_run_step(instance, i))
            return MODEL_failed;
        if (profiling) {
            const int64_t after = now_nanoseconds();
            instance->step_nanoseconds[i] = after - before;
            before = after;
        }
    }
    instance->has_run = true;
    instance->profiled = profiling;
    return MODEL_ok;
}

static bool has_narrow_indices(const TsTensor* input) { return input->type == 6; } /* ONNX's number of int32 */

static int64_t index_at(const TsTensor* input, const void* data, int64_t place) {
    return has_narrow_indices(input) ? ((const int32_t*)data)[place] : ((const int64_t*)data)[place];
}

/* The place of the first index that is out of range, or -1. */
static int64_t find_wrong_index(const TsTensor* input, const void* data) {
    const int64_t count = input->bytes / (has_narrow_indices(input) ? 4 : 8);
    for (int64_t i = 0; i < count; ++i)
        if (index_at(input, data, i) < input->index_least || index_at(input, data, i) > input->index_most)
            return i;
    return -1;
}

static MODEL_status check_inputs(MODEL_instance* instance) {
    for (int64_t i = 0; i < tunesmith_module.input_count; ++i) {
        const TsTensor* input = &tunesmith_module.inputs[i];
        if (!instance->input_set[i])
            return fail(instance->message, TS_MESSAGE_BYTES, MODEL_bad_argument, "input '%s' has no value yet", input->name);
        const void* data = instance->buffers[input->buffer];
        const bool limited = input->index_least > INT64_MIN || input->index_most < INT64_MAX;
        const int64_t wrong = limited ? find_wrong_index(input, data) : -1;
        if (wrong >= 0)
            return fail(instance->message, TS_MESSAGE_BYTES, MODEL_failed, "input '%s': index %lld (element %lld) is out of range: it must be from %lld to %lld",
                        input->name, (long long)index_at(input, data, wrong), (long long)wrong, (long long)input->index_least, (long long)input->index_most);
    }
    return MODEL_ok;
}

MODEL_status MODEL_run(MODEL_instance* instance) {
    if (!instance)
        return MODEL_bad_argument;
    if (atomic_flag_test_and_set_explicit(&instance->running, memory_order_acquire))
        return MODEL_busy;
    MODEL_status status = check_inputs(instance);
    if (status == MODEL_ok)
        status = run_steps(instance);
    atomic_flag_clear_explicit(&instance->running, memory_order_release);
    return status;
}
