// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tunesmith {

// The frame of a saved model: magic, kind of model, version and number of the feature columns, the model's
// own bytes. Little-endian. A model of another kind, or a damaged one, is refused; other features are refused
// by predict().
struct ModelBytes {
    std::string kind; // "xgboost", "ridge"
    std::int32_t featureVersion = 0;
    std::uint32_t columns = 0;
    std::string body;

    std::string pack() const;
    static Result<ModelBytes> unpack(std::string_view bytes, const std::string& kind);
};

// The one sentence for features that a model was not fitted with; ok when they fit.
Status checkFeatures(const std::string& model, int modelVersion, std::size_t modelColumns, int version,
                     std::size_t columns);

} // namespace tunesmith
