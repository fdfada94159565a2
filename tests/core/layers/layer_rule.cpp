// SPDX-License-Identifier: GPL-3.0-or-later
#include "layer_rule.h"

#include <QRegularExpression>

namespace tunesmith::layers {
namespace {

bool isQt(const QString& target) {
    static const QRegularExpression qt(R"(^(Q[A-Za-z]+|q[a-z]+\.h|qcustomplot\.h|Qt[A-Za-z]*/.*)$)");
    return qt.match(target).hasMatch();
}

// "core/graph/graph.h" -> "graph"
QString roomOf(const QString& path) {
    return path.section('/', 1, 1);
}

std::optional<QString> coreViolation(const QString& file, const QString& target, bool quoted) {
    const QString room = roomOf(file);
    const auto rank = rooms().indexOf(room);
    if (rank < 0)
        return QString("core/%1 is no room of the list in CONTRIBUTING.md").arg(room);
    if (isQt(target))
        return QString("core knows no Qt");
    if (!quoted)
        return std::nullopt;
    if (!target.contains('/') && room == "runtime")
        return std::nullopt; // C that is exported as a folder of its own and finds its headers beside itself
    if (!target.startsWith("core/"))
        return QString("core includes only from core/, written from the root of the repository");
    const auto targetRank = rooms().indexOf(roomOf(target));
    if (targetRank < 0)
        return QString("core/%1 is no room of the list in CONTRIBUTING.md").arg(roomOf(target));
    if (targetRank > rank)
        return QString("%1 stands below %2").arg(room, roomOf(target));
    return std::nullopt;
}

std::optional<QString> onlyFrom(const QString& layer, const QStringList& allowed, const QString& target) {
    static const QStringList ours{"core/", "widgets/", "app/", "plugins/", "tests/"};
    const auto startsTarget = [&](const QString& prefix) { return target.startsWith(prefix); };
    if (std::none_of(ours.begin(), ours.end(), startsTarget))
        return std::nullopt;
    if (std::any_of(allowed.begin(), allowed.end(), startsTarget))
        return std::nullopt;
    return QString("%1 may include only from %2").arg(layer, allowed.join(", "));
}

} // namespace

const QStringList& rooms() {
    static const QStringList list{"base",    "process", "stats",  "graph",        "loops",    "te",        "ops",       "check",  "onnx",
                                  "store",   "search",  "cost",   "autotvm",      "codegen",  "runtime",   "measure",   "schedule",
                                  "module",  "substitution", "rewrite", "optimize", "rl", "executors",   "jobs",     "plugin",    "workbench"};
    return list;
}

QStringList includesOf(const QString& source) {
    static const QRegularExpression rawString(R"raw(R"([^()\\\s]{0,16})\(.*?\)\1")raw",
                                              QRegularExpression::DotMatchesEverythingOption);
    static const QRegularExpression include(R"(^[ \t]*#[ \t]*include[ \t]*("[^"\n]+"|<[^>\n]+>))",
                                            QRegularExpression::MultilineOption);
    QString code = source;
    code.remove(rawString);
    QStringList found;
    for (auto matches = include.globalMatch(code); matches.hasNext();)
        found << matches.next().captured(1);
    return found;
}

std::optional<QString> violation(const QString& file, const QString& include) {
    const bool quoted = include.startsWith('"');
    const QString target = include.mid(1, include.size() - 2);
    if (target.contains("../"))
        return QString("includes are written from the root of the repository, without ..");
    if (file.startsWith("core/"))
        return coreViolation(file, target, quoted);
    if (file.startsWith("widgets/"))
        return onlyFrom("widgets", {"widgets/"}, target);
    if (file.startsWith("app/"))
        return onlyFrom("app", {"app/", "widgets/", "core/workbench/", "core/base/"}, target);
    if (file.startsWith("plugins/"))
        return onlyFrom("plugins", {"plugins/", "core/"}, target);
    return std::nullopt;
}

} // namespace tunesmith::layers
