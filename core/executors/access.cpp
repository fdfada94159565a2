// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/access.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <span>
#include <sys/random.h>
#include <sys/stat.h>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/executors/certificate.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLargestFile = 1 << 20, kLongestAddress = 300;
constexpr std::size_t kShortestToken = 16, kLongestToken = 4096;

// `ownOnly`: nobody else may read it.
Result<std::string> readFile(const std::string& path, const std::string& option, bool ownOnly) {
    auto opened = InputFile::open(path);
    if (!opened.ok())
        return opened.error().within(option);
    if (opened->size() > kLargestFile)
        return inputError(option + " " + path + " is larger than 1 MiB, which such a file never is");
    struct stat info {};
    if (ownOnly && (::fstat(opened->descriptor(), &info) != 0 || (info.st_mode & 077) != 0))
        return inputError(option + " " + path + " can be read by others; chmod 600 it, and choose another secret if they may have");
    std::string text(opened->size(), '\0');
    TS_TRY(opened->read(std::as_writable_bytes(std::span(text))));
    return text;
}

Result<std::string> readToken(const std::string& path) {
    TS_ASSIGN(std::string token, readFile(path, "--token-file", true));
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
        token.pop_back();
    const auto good = [](char c) { return c > 0x20 && c < 0x7f; };
    if (token.size() < kShortestToken || token.size() > kLongestToken || !std::ranges::all_of(token, good))
        return inputError("--token-file " + path + " must hold one token of at least " + std::to_string(kShortestToken) +
                          " printable characters without spaces, such as openssl rand -hex 32 makes");
    return token;
}

Result<std::string> readPem(const std::string& path, const std::string& option, bool ownOnly) {
    TS_ASSIGN(std::string text, readFile(path, option, ownOnly));
    if (text.find("-----BEGIN ") == std::string::npos)
        return inputError(option + " " + path + " is no PEM file");
    return text;
}

std::string hostOf(const std::string& address) {
    std::string host = address.substr(0, address.rfind(':'));
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    return host;
}

// A name, an IPv4 address, or an IPv6 one in brackets: nothing that gRPC would take for another kind of place.
bool isHost(const std::string& host) {
    const auto isOf = [](std::string_view text, std::string_view more) {
        return !text.empty() && std::ranges::all_of(text, [&](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || more.find(c) != more.npos; });
    };
    if (!host.starts_with('['))
        return isOf(host, "-._");
    const std::string inner = hostOf(host + ":0");
    const auto scope = inner.find('%');
    in6_addr any{};
    return host.ends_with(']') && ::inet_pton(AF_INET6, inner.substr(0, scope).c_str(), &any) == 1 && (scope == std::string::npos || isOf(inner.substr(scope + 1), "-._"));
}

bool isAddress(const std::string& host) {
    in6_addr any{};
    return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

} // namespace

Result<Access> readAccess(const AccessFiles& files) {
    Access access;
    access.insecure = files.insecure;
    if (!files.token.empty()) {
        TS_ASSIGN(access.token, readToken(files.token));
    }
    if (!files.ca.empty()) {
        TS_ASSIGN(access.ca, readPem(files.ca, "--ca", false));
        if (const Status status = checkTrusted(access.ca); !status.ok())
            return status.error().within("--ca " + files.ca);
    }
    if (files.certificate.empty() != files.key.empty())
        return inputError("--cert and --tls-key belong together; give both");
    if (!files.certificate.empty()) {
        TS_ASSIGN(access.certificate, readPem(files.certificate, "--cert", false));
        TS_ASSIGN(access.key, readPem(files.key, "--tls-key", true));
        if (const Status status = checkCertificate(access.certificate, access.key); !status.ok())
            return status.error().within("--cert " + files.certificate);
    }
    return access;
}

Status checkAddress(const std::string& address) {
    const auto colon = address.rfind(':');
    int port = -1;
    if (colon != std::string::npos && colon > 0) {
        const char* const end = address.data() + address.size();
        const auto [rest, error] = std::from_chars(address.data() + colon + 1, end, port);
        if (error != std::errc() || rest != end)
            port = -1;
    }
    if (port < 0 || port > 65535 || address.size() > kLongestAddress || !isHost(address.substr(0, colon)))
        return inputError("'" + shortened(address) + "' is no address; write HOST:PORT");
    return {};
}

bool isLoopback(const std::string& address) {
    const std::string host = hostOf(address);
    in_addr v4{};
    return host == "localhost" || host == "::1" || (host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &v4) == 1); // DNS is asked for any other
}

bool isWildcard(const std::string& address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    if (::getaddrinfo(hostOf(address).c_str(), nullptr, &hints, &found) != 0)
        return false;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    if (found->ai_family == AF_INET)
        return reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr == INADDR_ANY;
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr;
    return IN6_IS_ADDR_UNSPECIFIED(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr32[3] == 0);
}

Status checkListening(const Access& access, const std::string& address) {
    TS_TRY(checkAddress(address));
    if (isLoopback(address) || access.insecure)
        return {};
    if (access.certificate.empty() || access.token.empty())
        return inputError("listening at " + address + ", which other machines reach, needs --cert, --tls-key and --token-file; or say --insecure");
    return {};
}

void warnOfOtherHost(const Access& access, const std::string& address) {
    const std::string host = hostOf(address);
    if (access.certificate.empty() || isWildcard(address) || isFor(access.certificate, host))
        return;
    logMessage(LogLevel::warning, "the certificate of --cert is for " + namesIn(access.certificate) + ", not for " + host + ": who calls " + address +
                                      " will refuse it; make one with subjectAltName=" + (isAddress(host) ? "IP:" : "DNS:") + host);
}

Status checkCalling(const Access& access, const std::string& address) {
    TS_TRY(checkAddress(address));
    if (isLoopback(address) || access.insecure)
        return {};
    if (access.ca.empty() || access.token.empty())
        return inputError("calling " + address + " on another machine needs --ca and --token-file; or say --insecure");
    return {};
}

bool sameSecret(const std::string& a, const std::string& b) {
    if (a.size() != b.size())
        return false;
    volatile unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference = static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
    return difference == 0;
}

std::string newSecret() {
    std::array<unsigned char, 16> bytes{};
    while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    }
    std::string text;
    for (const unsigned char byte : bytes)
        for (const int shift : {4, 0})
            text += "0123456789abcdef"[(byte >> shift) & 15];
    return text;
}

} // namespace tunesmith
