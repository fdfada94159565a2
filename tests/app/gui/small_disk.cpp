// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/small_disk.h"
#include <QFile>
#include <QTest>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace tunesmith {
namespace {

void put(const char* path, const std::string& text) {
    const int file = open(path, O_WRONLY);
    (void)!write(file, text.data(), text.size());
    close(file);
}

} // namespace

bool SmallDisk::mount(const QByteArray& folder, const char* size) {
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    put("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", folder.constData(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
}

void SmallDisk::fill() const {
    QFile filler(path(QStringLiteral("filler")));
    QVERIFY(filler.open(QIODevice::Append | QIODevice::Unbuffered));
    for (int block = 1 << 20; block > 0; block /= 2)
        while (filler.write(QByteArray(block, 'x')) == block) {
        }
}

void SmallDisk::empty() const {
    QVERIFY(QFile::remove(path(QStringLiteral("filler"))));
}

void SmallDisk::setReadOnly(bool readOnly) const {
    const unsigned long flags = MS_REMOUNT | (readOnly ? MS_RDONLY : 0);
    QCOMPARE(::mount("tmpfs", qPrintable(folder_), "tmpfs", flags, nullptr), 0);
}

} // namespace tunesmith
