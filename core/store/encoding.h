// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/rows.h"

// How lists become one column: objectives and texts as JSON, samples as little-endian float32. Reading what a damaged
// file holds gives fewer values, never a failure; check() finds the damage.
namespace tunesmith::encoding {

// An error that names `what` unless the text is JSON.
Status requireJson(const std::string& text, const char* what);

std::string objectives(const std::vector<Objective>& values);
std::vector<Objective> objectives(const std::string& json);

std::string texts(const std::vector<std::string>& values);
std::vector<std::string> texts(const std::string& json);

std::vector<std::uint8_t> samples(const std::vector<float>& values);
std::vector<float> samples(std::span<const std::uint8_t> bytes);

} // namespace tunesmith::encoding
