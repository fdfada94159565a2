// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QtGlobal>

#include "core/base/result.h"

namespace tunesmith {

// The value of a result that a test counts on; the program ends with the message where it is an error.
template <class T> T take(Result<T> result) {
    if (!result.ok())
        qFatal("%s", result.error().message.c_str());
    return std::move(result).value();
}

// What a test counts on to succeed.
inline void take(const Status& status) {
    if (!status.ok())
        qFatal("%s", status.error().message.c_str());
}

// For QVERIFY2, which asks for the text where there is none as well.
inline std::string problemOf(const Status& status) { return status.ok() ? std::string() : status.error().message; }

} // namespace tunesmith
