// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// A table of a TOML file, for whoever reads settings out of it: keys are asked for one by one, wrong values are errors that name file, line and key,
// and what nobody has asked for is a mistake that done() tells. A value: copies look at the same file, each remembers what it was asked.
class Settings {
public:
    static Result<Settings> read(const std::filesystem::path& file); // at most 1 MiB

    const std::filesystem::path& file() const { return file_; }
    std::filesystem::path folder() const; // that of the file, absolute
    bool has(std::string_view key) const;

    // Without a fallback the key must be there.
    Result<std::string> text(std::string_view key, std::optional<std::string> fallback = {});
    Result<double> number(std::string_view key, double least, double most, std::optional<double> fallback = {});
    Result<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most, std::optional<std::int64_t> fallback = {});
    Result<bool> flag(std::string_view key, std::optional<bool> fallback = {});
    // A text, number or truth value as it would be written in a text; and a list of such.
    Result<std::string> word(std::string_view key, std::optional<std::string> fallback = {});
    Result<std::vector<std::string>> words(std::string_view key, std::optional<std::vector<std::string>> fallback = {});
    Result<Settings> table(std::string_view key);
    Result<std::vector<std::pair<std::string, Settings>>> tables(); // all that is in here, in the order of the file, which must be tables

    Status done() const; // is there a key that nobody has asked for?
    Error error(const std::string& what) const; // about this table
    Error errorAt(std::string_view key, const std::string& what) const;

    std::uint64_t hash() const; // of what this table says: the same for other comments, spaces and line breaks

    struct Value; // of a key: known to the source alone

private:
    Settings(std::filesystem::path file, std::shared_ptr<const Value> value) : file_(std::move(file)), value_(std::move(value)) {}
    std::shared_ptr<const Value> find(std::string_view key) const;
    Result<std::shared_ptr<const Value>> take(std::string_view key, bool needed);
    Error wrong(std::string_view key, const std::string& what) const;

    std::filesystem::path file_;
    std::shared_ptr<const Value> value_;
    std::set<std::string, std::less<>> asked_;
};

} // namespace tunesmith
