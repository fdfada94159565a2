// SPDX-License-Identifier: GPL-3.0-or-later
/* One step on given values, for whoever checks a module kernel by kernel. Not part of the public interface: these functions
 * are in modules that are made to be checked (ExportInfo::probes), and the linker leaves them out of all others. */
#include <string.h>

#include "tunesmith_runtime.h"

__attribute__((visibility("default"))) int MODEL_probe_write(MODEL_instance* instance, int64_t buffer, const void* data,
                                                             size_t bytes);
__attribute__((visibility("default"))) int MODEL_probe_read(MODEL_instance* instance, int64_t buffer, void* data, size_t bytes);
__attribute__((visibility("default"))) int MODEL_probe_step(MODEL_instance* instance, int64_t step);

static bool fits(int64_t buffer, size_t bytes) {
    return buffer >= 0 && buffer < tunesmith_module.buffer_count && bytes <= (size_t)tunesmith_module.buffers[buffer].bytes;
}

/* Without data the buffer is filled with ones: NaN, as floats. */
int MODEL_probe_write(MODEL_instance* instance, int64_t buffer, const void* data, size_t bytes) {
    if (!fits(buffer, bytes) || tunesmith_module.buffers[buffer].place == TS_PLACE_CONSTANT)
        return MODEL_bad_argument;
    if (data && bytes > 0)
        memcpy(instance->buffers[buffer], data, bytes);
    else if (bytes > 0)
        memset(instance->buffers[buffer], 0xff, bytes);
    return MODEL_ok;
}

int MODEL_probe_read(MODEL_instance* instance, int64_t buffer, void* data, size_t bytes) {
    if (!fits(buffer, bytes))
        return MODEL_bad_argument;
    if (bytes > 0)
        memcpy(data, instance->buffers[buffer], bytes);
    return MODEL_ok;
}

int MODEL_probe_step(MODEL_instance* instance, int64_t step) {
    if (step < 0 || step >= tunesmith_module.step_count)
        return MODEL_bad_argument;
    return ts_run_step(instance, step) ? MODEL_ok : MODEL_failed;
}
