// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"
#include "core/base/strong_id.h"

namespace tunesmith {

using JobId = StrongId<struct JobTag>;
using StageId = StrongId<struct StageTag>;

// How much of a resource a stage loads while it runs. Exclusive: nothing else of ours loads it meanwhile.
struct ResourceUse {
    std::string resource; // "core", "profile", "device cpu"
    int amount = 1;       // at least 1
    bool exclusive = false;
};

struct Resource {
    std::string name;
    int amount = 1; // in all
    // What stages need of it is an estimate (MiB of memory): one that needs more than there is, or than its job may have, gets all of that and is alone with it.
    bool estimated = false;
    bool changes = false; // what there is too little of now, there may be later: stages wait for it
};

} // namespace tunesmith
