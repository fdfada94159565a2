// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "tests/require.h"

// QVERIFY that nothing is wrong in a whole store.
#define REQUIRE_CLEAN(store)                                                                                 \
    do {                                                                                                     \
        const auto checked = (store).check();                                                                \
        REQUIRE_OK(checked);                                                                                 \
        QVERIFY2(checked.value().ok,                                                                         \
                 checked.value().problems.empty() ? "" : checked.value().problems.front().c_str());          \
    } while (false)
