// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>

namespace tunesmith {

// Whether only this user and root can change what a path names. What is looked at and then opened may be another file by then, if somebody else may
// write to it or to any folder on the way. So each of those, where links lead as well, and the file itself belong to this user or root, and nobody else
// may write to them (the group may whose one member the user is); only a folder in which entries stay with their owners (a sticky one, as /tmp) may be open on the way.
// "" if so; else what is at fault, without a period: "others may write to '/srv/shared'". A path that is not there is at fault. Access lists count, for
// their mask is the rights of the group.
std::string otherHands(const std::filesystem::path& path);

} // namespace tunesmith
