// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/owner.h"

#include <fstream>
#include <sstream>
#include <vector>

#include <unistd.h>

namespace tunesmith {
namespace {

std::string bootId() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

std::string pidNamespace() {
    char target[64];
    const auto length = ::readlink("/proc/self/ns/pid", target, sizeof target);
    std::string name = length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
    for (char& character : name)
        if (character == ':')
            character = '-';
    return name;
}

// Field 22 of /proc/PID/stat, counted after the command name, which may itself contain blanks and brackets. A
// zombie has ended.
std::string startTime(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string line;
    std::getline(file, line);
    const auto bracket = line.rfind(')');
    if (bracket == std::string::npos)
        return {};
    std::istringstream fields(line.substr(bracket + 1));
    std::string field;
    for (int number = 3; fields >> field; ++number) {
        if (number == 3 && (field == "Z" || field == "X"))
            return {};
        if (number == 22)
            return field;
    }
    return {};
}

} // namespace

std::string currentOwner() {
    const std::string pid = std::to_string(::getpid());
    return bootId() + ":" + pidNamespace() + ":" + pid + ":" + startTime(pid);
}

bool ownerAlive(const std::string& owner) {
    std::vector<std::string> parts;
    std::istringstream stream(owner);
    for (std::string part; std::getline(stream, part, ':');)
        parts.push_back(part);
    if (parts.size() != 4 || parts[2].find_first_not_of("0123456789") != std::string::npos)
        return false;
    return parts[0] == bootId() && parts[1] == pidNamespace() && !parts[3].empty() &&
           startTime(parts[2]) == parts[3];
}

} // namespace tunesmith
