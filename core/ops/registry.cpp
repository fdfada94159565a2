// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/registry.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace tunesmith {
namespace {

using Key = std::pair<std::string, std::string>; // domain, name

// Each node asks several times, so nobody makes strings for it.
struct ByText {
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    bool operator()(const View& a, const View& b) const { return a < b; }
};
using Operators = std::map<Key, Operator, ByText>;

const Operators& operators() {
    static const Operators instance = [] {
        ops::OperatorList list;
#define TS_REGISTER_OPERATORS(file) ops::register##file(list);
        TS_OPERATOR_FILES(TS_REGISTER_OPERATORS)
#undef TS_REGISTER_OPERATORS
        Operators byName;
        for (Operator& op : list) {
            const bool fresh = byName.emplace(Key(op.domain, op.name), op).second;
            assert(fresh && "operator registered twice");
            static_cast<void>(fresh);
        }
        return byName;
    }();
    return instance;
}

} // namespace

const Operator* findOperator(const std::string& name, const std::string& domain) {
    const auto found = operators().find(ByText::View(domain == "ai.onnx" ? std::string_view() : domain, name));
    return found == operators().end() ? nullptr : &found->second;
}

std::vector<const Operator*> allOperators() {
    std::vector<const Operator*> all;
    for (const auto& [key, op] : operators())
        all.push_back(&op);
    return all;
}

} // namespace tunesmith
