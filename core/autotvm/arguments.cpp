// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/arguments.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"

namespace tunesmith::autotvm {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLargest = std::int64_t{1} << 31;

// A list of whole numbers in [least, 2^31]; nothing when it is none.
std::optional<std::vector<std::int64_t>> listOf(const Json& json, std::int64_t least) {
    const auto fits = [least](const Json& item) {
        return item.is_number_integer() &&
               (!item.is_number_unsigned() ||
                item.get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargest)) &&
               item.get<std::int64_t>() >= least && item.get<std::int64_t>() <= kLargest;
    };
    if (!json.is_array() || !std::ranges::all_of(json, fits))
        return std::nullopt;
    return json.get<std::vector<std::int64_t>>();
}

} // namespace

Arguments::Arguments(std::string task, Json list)
    : task_(std::move(task)), list_(std::make_unique<Json>(std::move(list))) {}
Arguments::Arguments(Arguments&&) noexcept = default;
Arguments::~Arguments() = default;

Result<Arguments> Arguments::parse(const Task& task) {
    Json list = parseJson<Json>(task.args);
    if (!list.is_array())
        return inputError("task " + task.name + " has no list of arguments");
    return Arguments(task.name, std::move(list));
}

std::size_t Arguments::size() const {
    return list_->size();
}

Error Arguments::wrong(std::size_t at, const std::string& expected) const {
    return inputError("task " + task_ + ": argument " + std::to_string(at + 1) + " is not " + expected +
                      (at < size() ? " but " + (*list_)[at].dump().substr(0, 80) : ""));
}

Result<Arguments::Shape> Arguments::tensor(std::size_t at, std::size_t rank) const {
    const Error error = wrong(at, "a tensor of " + std::to_string(rank) + " dimensions");
    if (at >= size())
        return error;
    const Json& item = (*list_)[at];
    if (!item.is_array() || item.size() < 2 || item[0] != "TENSOR")
        return error;
    const auto shape = listOf(item[1], 1);
    if (!shape || shape->size() != rank)
        return error;
    return *shape;
}

Result<Arguments::Shape> Arguments::numbers(std::size_t at, std::size_t count, std::int64_t least) const {
    const Error error =
        wrong(at, std::to_string(count) + " whole numbers from " + std::to_string(least) + " on");
    if (at >= size())
        return error;
    const Json& item = (*list_)[at];
    const auto list = listOf(item.is_array() ? item : Json::array({item}), least);
    if (!list || (list->size() != count && list->size() != 1))
        return error;
    return list->size() == count ? *list : Shape(count, list->front());
}

Result<std::array<std::int64_t, 4>> Arguments::padding(std::size_t at) const {
    if (at < size() && (*list_)[at].is_array() && (*list_)[at].size() == 4) {
        TS_ASSIGN(const Shape all, numbers(at, 4, 0));
        return std::array{all[0], all[1], all[2], all[3]};
    }
    TS_ASSIGN(const Shape sides, numbers(at, 2, 0));
    return std::array{sides[0], sides[1], sides[0], sides[1]};
}

} // namespace tunesmith::autotvm
