// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// What is wrong with the certificate and the private key (PEM) of a program that begins to listen: they cannot be read, do not belong
// together, or the certificate is not valid now. gRPC would listen all the same, and every caller would refuse it.
Status checkCertificate(const std::string& certificate, const std::string& key);

// Nothing where there are certificates (PEM), each of which can be read: whom a caller trusts. gRPC would say of any other that the tracker cannot be reached.
Status checkTrusted(const std::string& certificates);

// The day on which it ended, like 2026-11-23; nothing while it is valid.
std::optional<std::string> expiryOf(const std::string& certificate);

// Whether callers who know us by this name or address find it in the certificate; they refuse it otherwise.
bool isFor(const std::string& certificate, const std::string& host);
std::string namesIn(const std::string& certificate); // for people: those that it is for

} // namespace tunesmith
