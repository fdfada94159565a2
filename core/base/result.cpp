// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include <algorithm>

namespace tunesmith {

Error::Error(ErrorKind itsKind, std::string sentence) : kind(itsKind), message(std::move(sentence)) {
    std::ranges::replace_if(
        message, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
}

} // namespace tunesmith
