// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTest>

// QVERIFY for a Result or Status, with its sentence.
#define REQUIRE_OK(result)                                                              \
    do {                                                                                \
        const auto& required = (result);                                                \
        QVERIFY2(required.ok(), required.ok() ? "" : required.error().message.c_str()); \
    } while (false)
