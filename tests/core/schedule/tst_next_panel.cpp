// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/graph/graph_builder.h"
#include "core/loops/simplify.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/template.h"
#include "tests/take.h"

using namespace tunesmith;
using loops::Expr;
using loops::Stmt;
using loops::StmtKind;

namespace {

constexpr std::int64_t kLine = 16; // floats of a cache line

// What a nest asks for ahead in one iteration of its parallel loop: lines of the one buffer, or of all.
class Fetches {
public:
    Fetches(const loops::Phase& phase, std::int64_t task, loops::TensorRef buffer = {}) : buffer_(std::move(buffer)) {
        walk(substituteVar(phase.body, phase.parallelVar, Expr(task)));
    }
    const std::set<std::int64_t>& lines() const { return lines_; }
    bool covers(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t at = begin; at < end; at += kLine)
            if (!lines_.contains(at / kLine))
                return false;
        return true;
    }

private:
    static std::int64_t number(const Expr& e) { return loops::constantValue(loops::simplify(e, loops::VarRanges())).value(); }

    void walk(const Stmt& stmt) {
        if (!stmt || !hasPrefetch(stmt))
            return;
        if (stmt->kind == StmtKind::prefetch && (!buffer_ || stmt->buffer == buffer_))
            lines_.insert(number(stmt->offset) / kLine);
        if (stmt->kind == StmtKind::loop)
            for (std::int64_t i = number(stmt->begin); i < number(stmt->end); ++i)
                walk(substituteVar(stmt->body[0], stmt->var, Expr(i)));
        else if (stmt->kind != StmtKind::guard || number(stmt->condition) != 0)
            for (const Stmt& child : stmt->body)
                walk(child);
    }
    static bool hasPrefetch(const Stmt& stmt) {
        return stmt && (stmt->kind == StmtKind::prefetch || std::ranges::any_of(stmt->body, hasPrefetch));
    }

    loops::TensorRef buffer_;
    std::set<std::int64_t> lines_;
};

std::set<std::int64_t> fetchedLines(const loops::LoopNest& nest, const loops::TensorRef& buffer) {
    std::set<std::int64_t> lines;
    for (std::int64_t task = 0; task < nest.phases[0].extent; ++task)
        lines.merge(std::set<std::int64_t>(Fetches(nest.phases[0], task, buffer).lines()));
    return lines;
}

Target wideTarget() {
    Target target;
    target.isa = Isa::avx512;
    return target;
}

struct Model {
    GraphBuilder builder{"model"};
    Model() { builder.setOpset("", 17); }
    ValueId input(const Shape& shape) { return builder.addInput("x", TensorType(DType::f32, shape)); }
    ValueId weights(const Shape& shape) { return builder.addConstant("", Tensor::zeros(DType::f32, shape)); }
    ScheduleSpace space(ValueId output) {
        builder.setOutputs({output});
        const Graph graph = take(inferShapes(take(builder.build())));
        const auto groups = groupNodes(graph);
        return take(ScheduleSpace::make(take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, wideTarget()))).workload, wideTarget()));
    }
};

ScheduleSpace product(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
    Model model;
    return model.space(model.builder.add("MatMul", {model.input({rows, depth}), model.weights({depth, columns})}));
}

ScheduleSpace convolution(std::int64_t channels, std::int64_t size, std::int64_t kernel) {
    Model model;
    const ValueId x = model.builder.add("Conv", {model.input({1, channels, size, size}), model.weights({channels, channels, 1, 1})});
    const std::vector<std::int64_t> pads(4, kernel / 2);
    return model.space(model.builder.add("Conv", {x, model.weights({channels, channels, kernel, kernel})}, {{"pads", pads}}));
}

} // namespace

class NextPanelTest : public QObject {
    Q_OBJECT

private slots:
    // One task computes a panel; all of the next one is asked for, and hardly anything else.
    void productsFetchTheNextPanel() {
        const ScheduleSpace space = product(30, 64, 96);
        const Config config = space.defaultConfig();
        const auto& knobs = dynamic_cast<const KnobSpace&>(space.space());
        const std::int64_t panel = knobs.value(config, 1).numbers[0] * 16 * 64;
        const auto kernel = take(space.schedule(config));
        const Fetches first(kernel.nest.phases[0], 0), second(kernel.nest.phases[0], 1);
        QVERIFY(first.covers(panel, 2 * panel));
        QVERIFY(second.covers(2 * panel, 3 * panel));
        QVERIFY2(*first.lines().begin() * kLine >= panel && *first.lines().rbegin() * kLine < 3 * panel, "far from the next panel");
    }

    void convolutionsFetchTheNextPanel() {
        const ScheduleSpace space = convolution(256, 7, 1);
        const auto kernel = take(space.schedule(space.defaultConfig()));
        const std::set<std::int64_t> lines = fetchedLines(kernel.nest, kernel.nest.arguments[1]);
        const std::int64_t all = 256 * 256 / kLine, smallest = *lines.begin();
        QVERIFY(smallest > 0 && smallest <= all / 2); // the first panel comes when it is read
        for (std::int64_t line = smallest; line < all; ++line)
            QVERIFY2(lines.contains(line), qPrintable(QString::number(line)));
    }

    // All but the first tile's pieces, and only where they come from many places.
    void convolutionsFetchTheNextTile() {
        const ScheduleSpace many = convolution(256, 14, 1), few = convolution(64, 14, 1);
        const auto kernel = take(many.schedule(many.defaultConfig()));
        const std::set<std::int64_t> lines = fetchedLines(kernel.nest, kernel.nest.arguments[0]);
        const auto& knobs = dynamic_cast<const KnobSpace&>(many.space());
        const std::int64_t columns = knobs.value(many.defaultConfig(), 0).numbers[0];
        for (std::int64_t block = 0; block < 16; ++block)
            for (std::int64_t place = columns; place < 14 * 14; ++place)
                QVERIFY2(lines.contains(block * 14 * 14 + place), qPrintable(QStringLiteral("block %1, place %2").arg(block).arg(place)));
        const auto other = take(few.schedule(few.defaultConfig()));
        QVERIFY(fetchedLines(other.nest, other.nest.arguments[0]).empty());
    }

    void winogradFetchesTheNextPanelOrPoint() {
        for (const std::int64_t size : {28, 14}) { // several groups of tile rows, one of them
            const ScheduleSpace space = convolution(128, size, 3);
            const Config config = space.defaultConfig();
            const auto kernel = take(space.schedule(config));
            QVERIFY(kernel.nest.phases.size() > 1);
            const Fetches first(kernel.nest.phases.back(), 0);
            QVERIFY(!first.lines().empty());
            QVERIFY(*first.lines().begin() > 0);
        }
    }

    // A panel that is read once is a stream, the only panel has no next, other orders come back to all panels again and again.
    void otherwiseNothingIsFetched() {
        for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 512}, {30, 16}}) {
            const ScheduleSpace space = product(rows, 64, columns);
            const auto kernel = take(space.schedule(space.defaultConfig()));
            QVERIFY(Fetches(kernel.nest.phases[0], 0).lines().empty());
        }
    }
};

QTEST_GUILESS_MAIN(NextPanelTest)
#include "tst_next_panel.moc"
