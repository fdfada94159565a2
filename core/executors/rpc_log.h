// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

// Whom or what a tracker or a server refuses, as a warning. Who makes us refuse thousands a second fills no disk: of more than a few within a while only
// the number is logged.
void logRefusal(const std::string& text);

// gRPC's own log becomes part of ours instead of lines on stderr. It is the only one to know of connections that ended before any call: who does not
// trust our certificate, or speaks no TLS, is logged as refused. Left alone where GRPC_VERBOSITY or GRPC_TRACE is set.
void takeGrpcLog();

// One of those lines as a sentence; empty for all others. `certificate`: PEM of who listens, or empty.
std::string refusalIn(const std::string& line, const std::string& certificate);

// Whose certificate the sentences are to be about.
void logRefusalsOf(const std::string& certificate);

} // namespace tunesmith
