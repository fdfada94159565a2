// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/runtime/embedded.h"

extern "C" {
extern const unsigned char ts_reference_object_begin[] __attribute__((visibility("hidden")));
extern const unsigned char ts_reference_object_end[] __attribute__((visibility("hidden")));
}

namespace tunesmith {

EmbeddedFile referenceObject() {
    return {"reference.o", {ts_reference_object_begin, ts_reference_object_end}};
}

} // namespace tunesmith
