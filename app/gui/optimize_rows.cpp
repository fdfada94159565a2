// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/optimize_rows.h"
#include "app/gui/open_model.h"
#include "core/workbench/replay.h"
#include "widgets/base/foreign_text.h"
#include <QLocale>
#include <algorithm>
#include <cmath>
#include <map>

namespace tunesmith {
namespace {

QString text(const std::string& utf8) {
    return oneLine(utf8, kValueLength);
}

QString duration(double seconds) {
    return seconds < 1 ? OptimizeText::tr("%1 ms").arg(QLocale().toString(seconds * 1e3, 'f', seconds < 0.01 ? 1 : 0)) : OptimizeText::tr("%1 s").arg(QLocale().toString(seconds, 'f', 1));
}

// "name (3)", in the order of names.
QStringList counted(const std::vector<std::string>& names) {
    std::map<std::string, int> counts;
    for (const std::string& name : names)
        ++counts[name];
    QStringList texts;
    for (const auto& [name, count] : counts)
        texts << (count == 1 ? text(name) : OptimizeText::tr("%1 (%2)").arg(text(name)).arg(count));
    return texts;
}

QVector<Turns> turns(const std::vector<std::vector<int>>& from) {
    QVector<Turns> to;
    to.reserve(static_cast<qsizetype>(from.size()));
    for (const std::vector<int>& each : from)
        to.push_back(Turns(each.begin(), each.end()));
    return to;
}

bool isRuleOf(const OptimizedModel& made, const std::string& name) {
    return std::any_of(made.rules.begin(), made.rules.end(), [&](const RuleUse& use) { return use.rule == name; });
}

void tell(RuleEntry& entry, const std::string& equation, const std::vector<std::string>& conditions, const std::string& evidence) {
    entry.equation = text(equation);
    entry.evidence = text(evidence);
    for (const std::string& condition : conditions)
        entry.conditions << text(condition);
}

RuleEntry entryOf(const OptimizedModel& made, const RuleUse& use) {
    RuleEntry entry;
    entry.key = text(use.rule);
    tell(entry, use.equation, use.conditions, use.evidence);
    entry.count = use.count;
    entry.gain = use.gain;
    std::vector<std::string> followed;
    for (std::size_t i = 0; i < made.steps.size(); ++i) {
        const GraphStep& step = made.steps[i];
        const auto& simplified = step.simplifications;
        if (step.rule == use.rule)
            followed.insert(followed.end(), simplified.begin(), simplified.end());
        if (step.rule == use.rule || std::find(simplified.begin(), simplified.end(), use.rule) != simplified.end())
            entry.steps << static_cast<int>(i) + 1;
    }
    entry.followed = counted(followed);
    return entry;
}

} // namespace

OptimizeRequest requestOf(const OptimizeChoice& choice, const QStringList& without, const std::string& store) {
    OptimizeRequest request;
    request.search = choice.search.toStdString();
    request.cost = choice.cost.toStdString();
    request.alpha = choice.alpha;
    request.budget = choice.budget;
    request.seconds = choice.seconds;
    request.rules = choice.rules.toStdString();
    request.store = store;
    request.measure = choice.cost != QLatin1String("kernels"); // what is shown may be saved
    for (const QString& rule : without)
        request.without.push_back(rule.toStdString());
    return request;
}

QVector<NamedChoice> choicesOf(const std::vector<NamedText>& named) {
    QVector<NamedChoice> choices;
    for (const NamedText& each : named)
        choices.push_back({QString::fromStdString(each.name), QString::fromStdString(each.text)});
    return choices;
}

Result<Replay> replayOf(const OptimizedModel& made, const QFont& font, const StopToken& stop) {
    TS_ASSIGN(const ReplayPicture drawn, drawReplay(graphsOf(made), stop));
    Replay replay;
    TS_ASSIGN(replay.scene, layOutPicture(drawn.picture, font, stop));
    replay.nodes = turns(drawn.nodeTurns);
    replay.edges = turns(drawn.edgeTurns);
    replay.unit = text(made.unit);
    for (const GraphStep& step : made.steps)
        replay.steps.push_back({text(step.rule), counted(step.simplifications), step.costBefore, step.costAfter, isRuleOf(made, step.rule)});
    return replay;
}

QVector<RuleEntry> ruleEntries(const OptimizedRun& run) {
    QVector<RuleEntry> entries;
    for (const RuleUse& use : run.made.rules)
        entries.push_back(entryOf(run.made, use));
    for (const std::string& name : run.request.without) {
        RuleEntry entry;
        entry.key = text(name);
        entry.without = true;
        for (const GraphRule& rule : run.rules)
            if (rule.name == name)
                tell(entry, rule.equation, rule.conditions, rule.evidence);
        entries.push_back(entry);
    }
    return entries;
}

QVector<RefusalEntry> refusalEntries(const OptimizedModel& made) {
    QVector<RefusalEntry> entries;
    for (const RuleRefusal& refusal : made.refusals)
        entries.push_back({text(refusal.rule) + QLatin1Char('\n') + text(refusal.reason), text(refusal.rule), text(refusal.reason), refusal.count});
    return entries;
}

// What changed most comes first.
QVector<OperatorEntry> operatorEntries(const OptimizedModel& made) {
    std::map<std::string, OperatorEntry> all;
    for (const auto& [op, count] : made.opsBefore)
        all[op].before = count;
    for (const auto& [op, count] : made.opsAfter)
        all[op].after = count;
    QVector<OperatorEntry> entries;
    for (auto& [op, entry] : all) {
        entry.key = text(op);
        entries.push_back(entry);
    }
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return std::abs(a.after - a.before) > std::abs(b.after - b.before); });
    return entries;
}

QVector<NodeChange> nodeChanges(const Replay& replay) {
    const GraphDifference found = difference(replay.nodes, 0, static_cast<int>(replay.steps.size()));
    QVector<NodeChange> changes;
    const auto add = [&](const QVector<int>& nodes, bool appeared) {
        for (const int i : nodes) {
            const GraphNode& node = replay.scene.nodes[i];
            changes.push_back({node.id, node.details.isEmpty() ? node.subtitle : node.details.front().value, node.title, appeared});
        }
    };
    add(found.gone, false);
    add(found.fresh, true);
    return changes;
}

QVector<CostPoint> costPoints(const OptimizedModel& made) {
    QVector<CostPoint> points{{0, made.costBefore, 0}};
    for (const OptimizeProgress& at : made.curve)
        points.push_back({at.seconds, at.best, at.expanded});
    return points;
}

bool improves(const OptimizedModel& made) {
    return made.costAfter < made.costBefore || !made.steps.empty();
}

QString OptimizeText::headline(const OptimizedModel& made) {
    const QString unit = text(made.unit);
    if (made.keptOriginal)
        return tr("The graph stays as it was: %1").arg(costText(made.costBefore, unit));
    if (!made.undone.empty() && made.steps.empty())
        return tr("Nothing is left of the rewrites: %1").arg(costText(made.costBefore, unit));
    if (!improves(made))
        return tr("Nothing cheaper was found: %1").arg(costText(made.costBefore, unit));
    const double share = made.costBefore > 0 ? 100 * (made.costBefore - made.costAfter) / made.costBefore : 0;
    const QString size = QLocale().toString(std::abs(share), 'f', std::abs(share) < 10 ? 1 : 0);
    return tr("%1 (%2%3 %)").arg(changeText(made.costBefore, made.costAfter, unit), share < 0 ? QStringLiteral("+") : QStringLiteral("−"), size);
}

QString OptimizeText::raceText(const OptimizedModel& made) {
    QStringList parts;
    if (!made.notRaced.empty())
        parts << tr("not raced against the original: %1").arg(text(made.notRaced));
    else if (made.keptOriginal)
        parts << tr("what was found is not certainly faster as a module");
    if (!made.timed.empty()) {
        QStringList modules;
        for (const TimedGraph& graph : made.timed)
            modules << tr("%1 → %2").arg(QLocale().toString(graph.predictedMs, 'g', 3), QLocale().toString(graph.measuredMs, 'g', 3));
        const Prediction prediction = predictionOf(made.timed);
        parts << tr("raced modules, predicted → measured ms: %1").arg(modules.join(QStringLiteral(", ")))
              << tr("predictions off by %1 % on the average, Kendall's tau %2").arg(QLocale().toString(100 * prediction.error, 'f', 1), QLocale().toString(prediction.kendallTau, 'f', 2));
    }
    return parts.join(QStringLiteral(" · "));
}

QString OptimizeText::detail(const OptimizedModel& made) {
    QStringList parts{tr("nodes: %1 → %2").arg(made.nodesBefore).arg(made.nodesAfter), made.checked.empty() ? tr("not compared: the graph is the original") : text(made.checked)};
    if (!made.leftOut.empty())
        parts << tr("left out, for they computed something else here: %1").arg(counted(made.leftOut).join(QStringLiteral(", ")));
    if (made.measuredAfterMs > 0)
        parts << tr("measured %1 ms → %2 ms").arg(QLocale().toString(made.measuredBeforeMs, 'g', 4), QLocale().toString(made.measuredAfterMs, 'g', 4));
    if (const QString race = raceText(made); !race.isEmpty())
        parts << race;
    if (!made.undone.empty())
        parts << tr("taken back: %1").arg(counted(made.undone).join(QStringLiteral(", ")));
    if (!made.lost.empty())
        parts << tr("gone with that: %1").arg(counted(made.lost).join(QStringLiteral(", ")));
    if (made.undone.empty())
        parts << tr("graphs: %1 expanded, %2 made in %3").arg(made.expanded).arg(made.generated).arg(duration(made.seconds))
          << QString::fromUtf8(stopReasonSentence(made.stopReason));
    return parts.join(QStringLiteral(" · "));
}

QString OptimizeText::agreement(double relativeError) {
    return relativeError == 0 ? tr("outputs equal to the original's") : tr("outputs equal to the original's up to %1 of their scale").arg(QLocale().toString(relativeError, 'e', 1));
}

QString OptimizeText::runName(const OptimizedRun& run, int number) {
    QString name = tr("%1 · %2").arg(number).arg(text(run.request.search));
    if (!run.made.undone.empty())
        name = tr("%1, %2 taken back").arg(name, counted(run.made.undone).join(QStringLiteral(", ")));
    QStringList without;
    for (const std::string& rule : run.request.without)
        without << text(rule);
    return without.isEmpty() ? name : tr("%1, without %2").arg(name, without.join(QStringLiteral(", ")));
}

} // namespace tunesmith
