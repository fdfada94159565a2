// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// Who may talk to whom: one token for a tracker, its servers and their clients, and TLS. Both are optional between programs of
// one machine (addresses like 127.0.0.1); anywhere else, leaving one out must be asked for with `insecure`.
struct AccessFiles {
    std::string token = {}; // a file that holds only the token and only its owner may read
    std::string ca = {};    // PEM: whom to trust when calling; empty: no TLS
    std::string certificate = {}, key = {}; // PEM, of one's own address; of who listens
    bool insecure = false;
};

// What the files hold. Never written to a log.
struct Access {
    std::string token, ca, certificate, key;
    bool insecure = false;
};

Result<Access> readAccess(const AccessFiles& files);

bool isLoopback(const std::string& address); // HOST:PORT
bool isWildcard(const std::string& address); // to listen at all addresses of this machine; none to call
Status checkAddress(const std::string& address); // that it is HOST:PORT
// Whether it may be listened at, or called, with what there is.
Status checkListening(const Access& access, const std::string& address);
Status checkCalling(const Access& access, const std::string& address);
// Logs that those who call us there will refuse our certificate, as it is another host's.
void warnOfOtherHost(const Access& access, const std::string& address);

bool sameSecret(const std::string& a, const std::string& b); // takes as long for any two of a length
std::string newSecret();                                     // 128 bits, in hexadecimal digits

} // namespace tunesmith
