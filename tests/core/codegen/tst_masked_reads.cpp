// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

#include "core/codegen/kernel.h"
#include "core/loops/evaluate.h"
#include "core/loops/schedule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

// Whole pages between pages that nobody may touch.
class FencedPages {
public:
    explicit FencedPages(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_((bytes + page_ - 1) / page_ * page_) {
        base_ = static_cast<std::byte*>(mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(base_ + page_, bytes_, PROT_READ | PROT_WRITE);
    }
    ~FencedPages() { munmap(base_, bytes_ + 2 * page_); }
    FencedPages(const FencedPages&) = delete;
    FencedPages& operator=(const FencedPages&) = delete;

    std::byte* begin() { return base_ + page_; }
    std::byte* end() { return begin() + bytes_; }

private:
    std::size_t page_, bytes_;
    std::byte* base_;
};

enum class Move : std::uint8_t { pad, join, turn };

// Rows of x between pads, behind each other with those of a second tensor, or from back to front within pads.
Program moved(Move move, DType type, std::int64_t columns) {
    Program program;
    program.name = "move";
    const auto x = makeTensor("x", type, {3, columns}), z = makeTensor("z", type, {3, columns});
    program.inputs = {x, z};
    program.stages.push_back(compute("y", type, {3, 2 * columns}, [&](const Indices& i) {
        const Expr nothing = type == DType::boolean ? constantInt(type, 0) : constantOf(type, 0);
        if (move == Move::join)
            return select(i[1] < Expr(columns), load(x, i), load(z, {i[0], i[1] - Expr(columns)}));
        const Expr at = move == Move::pad ? i[1] - Expr(3) : Expr(columns + 2) - i[1];
        return select(at >= Expr(0) && at < Expr(columns), load(x, {i[0], at}), nothing);
    }));
    program.outputs = {program.stages[0].output};
    return program;
}

// What is wrong where the operands end, or begin, at a page that cannot be read.
std::string wrongBeside(const Program& program, Isa isa, std::int64_t lanes, bool atEnd) {
    Schedule schedule(program);
    auto& y = schedule[program.outputs[0]];
    y.vectorize(y.split(y.axes().back(), lanes).second);
    Target target;
    target.isa = isa;
    const auto kernel = take(LoadedKernel::load(take(compileKernel(take(schedule.lower()), target, {"move", false})).kernel));
    std::vector<Tensor> inputs;
    std::vector<std::unique_ptr<FencedPages>> pages;
    std::vector<void*> arguments;
    for (const TensorRef& input : program.inputs) {
        Tensor tensor = Tensor::zeros(input->type, input->shape);
        for (std::size_t i = 0; i < tensor.byteCount(); ++i)
            tensor.mutableBytes()[i] = static_cast<std::byte>(input->type == DType::boolean ? i % 2 : i % 61);
        pages.push_back(std::make_unique<FencedPages>(tensor.byteCount()));
        std::byte* place = atEnd ? pages.back()->end() - tensor.byteCount() : pages.back()->begin();
        std::ranges::copy(tensor.bytes(), place);
        arguments.push_back(place);
        inputs.push_back(std::move(tensor));
    }
    Tensor made = Tensor::zeros(program.outputs[0]->type, program.outputs[0]->shape);
    arguments.push_back(made.mutableBytes().data());
    kernel->run(arguments.data());
    return std::ranges::equal(made.bytes(), take(evaluate(program, inputs))[0].bytes()) ? "" : "other values";
}

} // namespace

class TestMaskedReads : public QObject {
    Q_OBJECT

private slots:
    // Lanes whose condition does not hold read nothing, whatever lies there.
    void lanesOutsideReadNothing_data() {
        QTest::addColumn<int>("move");
        QTest::addColumn<int>("type");
        for (const auto& [name, move] : {std::pair("pad", Move::pad), std::pair("join", Move::join), std::pair("turn", Move::turn)})
            for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i64, DType::i8, DType::boolean})
                QTest::addRow("%s of %s", name, std::string(dtypeName(type)).c_str()) << static_cast<int>(move) << static_cast<int>(type);
    }
    void lanesOutsideReadNothing() {
        QFETCH(int, move);
        QFETCH(int, type);
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const std::int64_t columns : {5, 16, 21, 40})
                for (const std::int64_t lanes : {8, 16, 32})
                    for (const bool atEnd : {false, true})
                        if (hostSupports(isa))
                            QCOMPARE(wrongBeside(moved(static_cast<Move>(move), static_cast<DType>(type), columns), isa, lanes, atEnd), std::string());
    }

    void theyStayInVectors() {
        for (const Move move : {Move::pad, Move::join}) {
            Schedule schedule(moved(move, DType::f32, 40));
            auto& y = schedule[schedule.program().outputs[0]];
            y.vectorize(y.split(y.axes().back(), 16).second);
            Target target;
            target.isa = Isa::avx512;
            const std::string assembly = take(compileKernel(take(schedule.lower()), target, {"move", true})).assembly;
            QVERIFY2(assembly.find("vmovss") == std::string::npos, assembly.c_str());
            QVERIFY(assembly.find("{%k") != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(TestMaskedReads)
#include "tst_masked_reads.moc"
