// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/registry.h"

#include <algorithm>
#include <map>

namespace tunesmith {
namespace {

using Key = std::pair<std::string, std::string>; // domain, name

const std::map<Key, Operator>& operators() {
    static const std::map<Key, Operator> instance = [] {
        ops::OperatorList list;
#define TS_REGISTER_OPERATORS(file) ops::register##file(list);
        TS_OPERATOR_FILES(TS_REGISTER_OPERATORS)
#undef TS_REGISTER_OPERATORS
        std::map<Key, Operator> byName;
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
    const auto found = operators().find({domain == "ai.onnx" ? std::string() : domain, name});
    return found == operators().end() ? nullptr : &found->second;
}

std::vector<const Operator*> allOperators() {
    std::vector<const Operator*> all;
    for (const auto& [key, op] : operators())
        all.push_back(&op);
    return all;
}

} // namespace tunesmith
