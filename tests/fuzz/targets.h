// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>

namespace tunesmith::fuzz {

// Each takes bytes from anywhere and ends the process when its promise is broken.
void import(std::span<const std::byte> bytes);
void roundTrip(std::span<const std::byte> bytes);
void tensorExpressions(std::span<const std::byte> bytes);
void remoteMessages(std::span<const std::byte> bytes); // the first byte says what the others are for: a server, a client or the tracker

// Files of a user, each written into a folder and read as the program reads it. True: it was understood.
bool settings(std::span<const std::byte> bytes); // TOML: of problems, jobs and sweeps
bool npy(std::span<const std::byte> bytes);
bool rules(std::span<const std::byte> bytes); // as text, as TASO prints them, as its graph_subst.pb
bool autotvmLog(std::span<const std::byte> bytes);
bool moduleFolder(std::span<const std::byte> bytes); // module.json and family.json beside files that are there
bool store(std::span<const std::byte> bytes);        // changes to a store's pages: offset, length, bytes
bool workload(std::span<const std::byte> bytes);     // as a store keeps it and messages carry it

} // namespace tunesmith::fuzz
