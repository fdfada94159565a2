// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/autotvm/record.h"

namespace tunesmith::autotvm {

// The arguments of a task, read as what a template expects. Errors name the task and the argument.
class Arguments {
public:
    static Result<Arguments> parse(const Task& task);
    Arguments(Arguments&&) noexcept;
    ~Arguments();

    using Shape = std::vector<std::int64_t>;
    Result<Shape> tensor(std::size_t at, std::size_t rank) const; // every dimension in 1..2^31
    // As many whole numbers, none below `least`; one number stands for equal ones.
    Result<Shape> numbers(std::size_t at, std::size_t count, std::int64_t least) const;
    Result<std::array<std::int64_t, 4>> padding(std::size_t at) const; // top, left, bottom, right
    std::size_t size() const;
    Error wrong(std::size_t at, const std::string& expected) const;

private:
    explicit Arguments(std::string task, nlohmann::json list);
    std::string task_;
    std::unique_ptr<nlohmann::json> list_;
};

} // namespace tunesmith::autotvm
