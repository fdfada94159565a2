// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// The function that a fused convolution or product ends with, by the name that ONNX has for it.
class FusedActivation {
public:
    // Of FusedConv: attributes `activation` and `activation_params`, none of which may be missing.
    static Result<FusedActivation> ofConv(const Node& node);
    // Of FusedGemm: `activation`, `activation_alpha`, `activation_beta`, with ONNX's defaults.
    static Result<FusedActivation> ofGemm(const Node& node);

    double operator()(double x) const { return kind_ ? kind_->value(x, first_, second_) : x; }
    ValueId addTo(ExpandContext& context, ValueId x, DType type) const;

    struct Kind {
        const char* name;
        std::size_t parameters;
        float first, second; // ONNX's defaults
        double (*value)(double x, double a, double b);
    };

private:
    FusedActivation() = default; // none
    static Result<FusedActivation> named(const std::string& name);

    const Kind* kind_ = nullptr;
    double first_ = 0, second_ = 0;
};

} // namespace tunesmith::ops
