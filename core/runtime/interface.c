// SPDX-License-Identifier: GPL-3.0-or-later
/* The part of the public interface that describes the model and moves its inputs and outputs. */
#include <stdio.h>
#include <string.h>

#include "tunesmith_runtime.h"

const char* MODEL_version(void) {
    return tunesmith_module.version;
}

const char* MODEL_last_error(const MODEL_instance* instance) {
    return instance ? instance->message : "the instance is NULL";
}

const char* MODEL_status_text(MODEL_status status) {
    static const char* const texts[] = {
        "ok",
        "an argument does not fit the model",
        "the processor lacks instructions that the module was compiled for",
        "the weights are missing or damaged",
        "not enough memory",
        "the threads cannot be started",
        "the instance is running on another thread",
        "a step cannot be computed with these inputs",
    };
    const unsigned index = (unsigned)status;
    return index < sizeof texts / sizeof texts[0] ? texts[index] : "unknown status";
}

static const TsTensor* tensor_at(const TsTensor* tensors, int64_t count, int index) {
    return index >= 0 && index < count ? &tensors[index] : NULL;
}
static const TsTensor* input_at(int index) {
    return tensor_at(tunesmith_module.inputs, tunesmith_module.input_count, index);
}
static const TsTensor* output_at(int index) {
    return tensor_at(tunesmith_module.outputs, tunesmith_module.output_count, index);
}

static int find(const TsTensor* tensors, int64_t count, const char* name) {
    for (int i = 0; name && i < count; ++i)
        if (strcmp(tensors[i].name, name) == 0)
            return i;
    return -1;
}

static const char* name_of(const TsTensor* tensor) {
    return tensor ? tensor->name : NULL;
}
static const char* type_name_of(const TsTensor* tensor) {
    return tensor ? tensor->type_name : NULL;
}
static int type_of(const TsTensor* tensor) {
    return tensor ? (int)tensor->type : -1;
}
static int rank_of(const TsTensor* tensor) {
    return tensor ? (int)tensor->rank : -1;
}
static const int64_t* dims_of(const TsTensor* tensor) {
    return tensor ? tensor->dims : NULL;
}
static int64_t bytes_of(const TsTensor* tensor) {
    return tensor ? tensor->bytes : -1;
}

int MODEL_input_count(void) {
    return (int)tunesmith_module.input_count;
}
const char* MODEL_input_name(int index) {
    return name_of(input_at(index));
}
int MODEL_input_type(int index) {
    return type_of(input_at(index));
}
const char* MODEL_input_type_name(int index) {
    return type_name_of(input_at(index));
}
int MODEL_input_rank(int index) {
    return rank_of(input_at(index));
}
const int64_t* MODEL_input_dims(int index) {
    return dims_of(input_at(index));
}
int64_t MODEL_input_bytes(int index) {
    return bytes_of(input_at(index));
}
int MODEL_find_input(const char* name) {
    return find(tunesmith_module.inputs, tunesmith_module.input_count, name);
}

int MODEL_output_count(void) {
    return (int)tunesmith_module.output_count;
}
const char* MODEL_output_name(int index) {
    return name_of(output_at(index));
}
int MODEL_output_type(int index) {
    return type_of(output_at(index));
}
const char* MODEL_output_type_name(int index) {
    return type_name_of(output_at(index));
}
int MODEL_output_rank(int index) {
    return rank_of(output_at(index));
}
const int64_t* MODEL_output_dims(int index) {
    return dims_of(output_at(index));
}
int64_t MODEL_output_bytes(int index) {
    return bytes_of(output_at(index));
}
int MODEL_find_output(const char* name) {
    return find(tunesmith_module.outputs, tunesmith_module.output_count, name);
}

/* Takes the instance for this call, so that a run on another thread is noticed instead of disturbed. */
static bool enter(MODEL_instance* instance) {
    return !atomic_flag_test_and_set_explicit(&instance->running, memory_order_acquire);
}
static MODEL_status leave(MODEL_instance* instance, MODEL_status status) {
    atomic_flag_clear_explicit(&instance->running, memory_order_release);
    return status;
}

/* What a tensor became: its own size, or that of the memory which a step allocated for it. */
static bool is_dynamic(const TsTensor* tensor) {
    return tunesmith_module.buffers[tensor->buffer].place == TS_PLACE_DYNAMIC;
}
static int64_t actual_rank(const MODEL_instance* instance, const TsTensor* tensor) {
    return is_dynamic(tensor) ? tunesmith_module.reference->rank(instance->reference, tensor->buffer) : tensor->rank;
}
static const int64_t* actual_dims(const MODEL_instance* instance, const TsTensor* tensor) {
    return is_dynamic(tensor) ? tunesmith_module.reference->dims(instance->reference, tensor->buffer) : tensor->dims;
}
static int64_t actual_bytes(const MODEL_instance* instance, const TsTensor* tensor) {
    return is_dynamic(tensor) ? tunesmith_module.reference->bytes(instance->reference, tensor->buffer) : tensor->bytes;
}

static MODEL_status check_transfer(MODEL_instance* instance, const char* kind, const TsTensor* tensor,
                                   int64_t wanted, const void* data, size_t bytes) {
    if (bytes != (size_t)wanted)
        snprintf(instance->message, TS_MESSAGE_BYTES, "%s '%s' has %lld bytes, not %zu", kind, tensor->name,
                 (long long)wanted, bytes);
    else if (!data && bytes > 0)
        snprintf(instance->message, TS_MESSAGE_BYTES, "the data of %s '%s' is NULL", kind, tensor->name);
    else
        return MODEL_ok;
    return MODEL_bad_argument;
}

MODEL_status MODEL_set_input(MODEL_instance* instance, int index, const void* data, size_t bytes) {
    if (!instance)
        return MODEL_bad_argument;
    if (!enter(instance))
        return MODEL_busy;
    const TsTensor* tensor = input_at(index);
    MODEL_status status = MODEL_bad_argument;
    if (!tensor)
        snprintf(instance->message, TS_MESSAGE_BYTES, "there is no input %d", index);
    else
        status = check_transfer(instance, "input", tensor, tensor->bytes, data, bytes);
    if (status == MODEL_ok) {
        if (bytes > 0)
            memcpy(instance->buffers[tensor->buffer], data, bytes);
        instance->input_set[index] = true;
    }
    return leave(instance, status);
}

void* MODEL_input_data(MODEL_instance* instance, int index) {
    const TsTensor* tensor = input_at(index);
    if (!instance || !enter(instance))
        return NULL;
    if (tensor)
        instance->input_set[index] = true;
    else
        snprintf(instance->message, TS_MESSAGE_BYTES, "there is no input %d", index);
    leave(instance, MODEL_ok);
    return tensor ? instance->buffers[tensor->buffer] : NULL;
}

/* The output if there is one and the model has run; what is wrong goes into the message. */
static const TsTensor* made_output(MODEL_instance* instance, int index) {
    const TsTensor* tensor = output_at(index);
    if (!tensor)
        snprintf(instance->message, TS_MESSAGE_BYTES, "there is no output %d", index);
    else if (!instance->has_run)
        snprintf(instance->message, TS_MESSAGE_BYTES, "the model has not run yet");
    return instance->has_run ? tensor : NULL;
}

MODEL_status MODEL_get_output(MODEL_instance* instance, int index, void* data, size_t bytes) {
    if (!instance)
        return MODEL_bad_argument;
    if (!enter(instance))
        return MODEL_busy;
    const TsTensor* tensor = made_output(instance, index);
    MODEL_status status = MODEL_bad_argument;
    if (tensor)
        status = check_transfer(instance, "output", tensor, actual_bytes(instance, tensor), data, bytes);
    if (status == MODEL_ok && bytes > 0)
        memcpy(data, instance->buffers[tensor->buffer], bytes);
    return leave(instance, status);
}

const void* MODEL_output_data(MODEL_instance* instance, int index) {
    if (!instance || !enter(instance))
        return NULL;
    const TsTensor* tensor = made_output(instance, index);
    const void* data = tensor ? instance->buffers[tensor->buffer] : NULL;
    leave(instance, MODEL_ok);
    return data;
}

int MODEL_result_rank(MODEL_instance* instance, int index) {
    if (!instance || !enter(instance))
        return -1;
    const TsTensor* tensor = made_output(instance, index);
    const int rank = tensor ? (int)actual_rank(instance, tensor) : -1;
    leave(instance, MODEL_ok);
    return rank;
}

const int64_t* MODEL_result_dims(MODEL_instance* instance, int index) {
    if (!instance || !enter(instance))
        return NULL;
    const TsTensor* tensor = made_output(instance, index);
    const int64_t* dims = tensor ? actual_dims(instance, tensor) : NULL;
    leave(instance, MODEL_ok);
    return dims;
}

int64_t MODEL_result_bytes(MODEL_instance* instance, int index) {
    if (!instance || !enter(instance))
        return -1;
    const TsTensor* tensor = made_output(instance, index);
    const int64_t bytes = tensor ? actual_bytes(instance, tensor) : -1;
    leave(instance, MODEL_ok);
    return bytes;
}

int MODEL_thread_count(const MODEL_instance* instance) {
    return instance ? instance->threads : -1;
}
int MODEL_step_count(void) {
    return (int)tunesmith_module.step_count;
}

const char* MODEL_step_name(int step) {
    return step >= 0 && step < tunesmith_module.step_count ? tunesmith_module.steps[step].name : NULL;
}

MODEL_status MODEL_set_profiling(MODEL_instance* instance, int on) {
    if (!instance)
        return MODEL_bad_argument;
    if (!enter(instance))
        return MODEL_busy;
    instance->profiling = on != 0;
    return leave(instance, MODEL_ok);
}

int64_t MODEL_step_nanoseconds(const MODEL_instance* instance, int step) {
    if (!instance || !instance->profiled || step < 0 || step >= tunesmith_module.step_count)
        return -1;
    return instance->step_nanoseconds[step];
}
