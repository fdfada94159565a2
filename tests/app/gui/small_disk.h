// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QString>

namespace tunesmith {

// A small file system of our own, where the system lets a process without rights mount one; nobody else sees
// it.
class SmallDisk {
public:
    // Before the first thread is started: the whole process moves to namespaces of its own.
    static bool mount(const QByteArray& folder, const char* size);

    explicit SmallDisk(const QString& folder) : folder_(folder) {}
    QString path(const QString& name) const { return folder_ + QLatin1Char('/') + name; }
    void fill() const;  // to the last byte
    void empty() const; // of what fill() wrote
    void setReadOnly(bool readOnly) const;

private:
    QString folder_;
};

} // namespace tunesmith
