// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/fused_activation.h"

#include <algorithm>
#include <cmath>

#include "core/ops/clamped.h"

namespace tunesmith::ops {
namespace {

constexpr FusedActivation::Kind kFusedActivations[] = {
    {"Relu", 0, 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"Tanh", 0, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"Sigmoid", 0, 0, 0, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"Softplus", 0, 0, 0,
     [](double x, double, double) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }},
    {"Softsign", 0, 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"LeakyRelu", 1, 0.01F, 0, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {"Elu", 1, 1, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }},
    {"ThresholdedRelu", 1, 1, 0, [](double x, double a, double) { return x > a ? x : 0; }},
    {"HardSigmoid", 2, 0.2F, 0.5F, [](double x, double a, double b) { return clamped(a * x + b, 0, 1); }},
    {"Clip", 2, 0, 0, clamped},
};

std::string activationNames() {
    std::string names;
    for (const auto& kind : kFusedActivations)
        names += (names.empty() ? "" : ", ") + std::string(kind.name);
    return names;
}

} // namespace

Result<FusedActivation> FusedActivation::named(const std::string& name) {
    FusedActivation found;
    if (name.empty())
        return found;
    const auto* const kind =
        std::ranges::find_if(kFusedActivations, [&](const Kind& each) { return each.name == name; });
    if (kind == std::end(kFusedActivations))
        return unsupportedError("the activation '" + name + "' is not known; " + activationNames() + " are");
    found.kind_ = kind;
    found.first_ = kind->first;
    found.second_ = kind->second;
    return found;
}

Result<FusedActivation> FusedActivation::ofConv(const Node& node) {
    TS_ASSIGN(FusedActivation found, named(node.stringAttr("activation")));
    const std::vector<float> given = node.floatsAttr("activation_params");
    const std::size_t wanted = found.kind_ ? found.kind_->parameters : 0;
    if (given.size() < wanted)
        return inputError("activation_params has " + std::to_string(given.size()) + " numbers, but " +
                          node.stringAttr("activation") + " needs " + std::to_string(wanted));
    if (wanted > 0)
        found.first_ = given[0];
    if (wanted > 1)
        found.second_ = given[1];
    return found;
}

Result<FusedActivation> FusedActivation::ofGemm(const Node& node) {
    TS_ASSIGN(FusedActivation found, named(node.stringAttr("activation")));
    if (found.kind_ && found.kind_->parameters > 0)
        found.first_ = node.floatAttr("activation_alpha", found.kind_->first);
    if (found.kind_ && found.kind_->parameters > 1)
        found.second_ = node.floatAttr("activation_beta", found.kind_->second);
    return found;
}

ValueId FusedActivation::addTo(ExpandContext& context, ValueId x, DType type) const {
    if (!kind_)
        return x;
    if (std::string_view(kind_->name) == "Clip")
        return context.clip(x, type, first_, second_);
    std::map<std::string, Attribute> attributes;
    if (kind_->parameters > 0)
        attributes["alpha"] = static_cast<float>(first_);
    if (kind_->parameters > 1)
        attributes["beta"] = static_cast<float>(second_);
    return context.add(kind_->name, {x}, std::move(attributes));
}

} // namespace tunesmith::ops
