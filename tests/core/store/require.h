// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTest>

// What the tests of the store ask of results and of a whole store.
#define REQUIRE_OK(result) QVERIFY2((result).ok(), (result).ok() ? "" : (result).error().message.c_str())
#define REQUIRE_CLEAN(store)                                                                                 \
    do {                                                                                                     \
        const auto checked = (store).check();                                                                \
        REQUIRE_OK(checked);                                                                                 \
        QVERIFY2(checked.value().ok,                                                                         \
                 checked.value().problems.empty() ? "" : checked.value().problems.front().c_str());          \
    } while (false)
