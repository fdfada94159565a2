// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/dot_conv_words.h"

#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"

namespace tunesmith {

using loops::Axis;
using loops::Expr;
using loops::Indices;
using loops::Layout;
using loops::Op;
using loops::Program;
using loops::Stage;
using loops::TensorRef;
using loops::Var;

namespace {

bool isVar(const Expr& e, const Var& var) { return e->op == Op::var && e->var == var; }

Expr with(const Expr& e, const Var& var, const Expr& value) {
    return loops::substitute(e, [&](const Var& other) { return other == var ? value : Expr(); });
}

// What the reads of a dimension cover: from `before` indices ahead of its begin on, `extent` of them.
struct Span {
    std::int64_t before = 0, extent = 0;
    bool leaves(std::int64_t dimension) const { return before > 0 || extent > dimension; }
};

Span spanOf(const Expr& index, const std::vector<Axis>& axes) {
    loops::VarRanges ranges;
    for (const Axis& axis : axes)
        ranges.set(axis.var, {0, axis.extent - 1});
    const loops::Range range = loops::rangeOf(index, ranges);
    const std::int64_t before = std::max<std::int64_t>(0, -range.min);
    return {before, range.max + before + 1};
}

Expr both(const Expr& a, const Expr& b) { return !a.valid() ? b : b.valid() ? a && b : a; }

Expr inside(const Expr& index, const Span& span, std::int64_t dimension) {
    const Expr begins = span.before > 0 ? index >= Expr(0) : Expr();
    return both(begins, span.extent - span.before > dimension ? index < Expr(dimension) : Expr());
}

class ConvWords {
public:
    explicit ConvWords(LoweredWorkload& lowered)
        : lowered_(lowered), conv_(*integerProduct(lowered.program)), made_(lowered, conv_), stage_(*conv_.stage), read_(conv_.left.read), input_(read_->tensor),
          channels_(stage_.reduceAxes[0].extent), groups_(input_->shape[1] / channels_), taps_(sumsOneChannel(conv_)) {
        std::vector<Axis> all = stage_.axes;
        all.insert(all.end(), stage_.reduceAxes.begin(), stage_.reduceAxes.end());
        for (std::size_t d = 2; d < read_->args.size(); ++d)
            spans_.push_back(spanOf(read_->args[d], all));
    }

    void make() {
        made_.count = channels_ * stage_.reduceAxes[1].extent * stage_.reduceAxes[2].extent;
        taps_ ? readRows() : !isFlat() ? readChannels() : stage_.reduceAxes[1].extent * stage_.reduceAxes[2].extent == 1 ? readPixels() : readColumns();
        readWeights();
        made_.finish();
    }

private:
    bool isFlat() const { return stage_.axes.size() == 3; } // pixels are one dimension

    std::int64_t wordsPerGroup() const { return wordsFor(channels_); }

    // One word of channels at a place; `channel` counts words of all groups.
    Expr channelWord(const Expr& image, const Expr& channel, const Expr& y, const Expr& x) const {
        const std::int64_t words = wordsPerGroup();
        return wordOf(input_->type, Sign::none, [&](std::int64_t place) {
            const Expr within = (groups_ == 1 ? channel : channel % Expr(words)) * Expr(kBytesInWord) + Expr(place);
            const Expr group = groups_ == 1 ? Expr(0) : channel / Expr(words) * Expr(channels_);
            const Expr byte = load(input_, {image, group + within, y, x});
            const std::int64_t last = channels_ % kBytesInWord;
            return last == 0 || place < last ? byte : words == 1 ? byteBeyond(input_->type, Sign::none) : select(within < Expr(channels_), byte, byteBeyond(input_->type, Sign::none));
        });
    }

    // The zero point in those places of a word that are summed.
    Expr borderOfChannels(const Expr& channel) const {
        const std::int64_t words = wordsPerGroup(), last = channels_ % kBytesInWord;
        const Expr whole = made_.leftZero() * onesIn(kBytesInWord), part = made_.leftZero() * onesIn(last);
        if (last == 0 || loops::isConstant(whole, 0))
            return whole;
        return words == 1 ? part : select(equal(groups_ == 1 ? channel : channel % Expr(words), Expr(words - 1)), part, whole);
    }

    static Expr onesIn(std::int64_t places) {
        std::int64_t ones = 0;
        for (std::int64_t place = 0; place < places; ++place)
            ones |= std::int64_t{1} << (8 * place);
        return loops::constantInt(DType::i32, ones);
    }

    // Which word of channels the convolution reads.
    Expr channelRead() {
        const Expr word(made_.reduced[0].var);
        if (groups_ == 1)
            return word;
        return with(read_->args[1], stage_.reduceAxes[0].var, Expr(0)) / Expr(channels_) * Expr(wordsPerGroup()) + word;
    }

    void readChannels() {
        made_.reduced = {{loops::makeVar("cw"), wordsPerGroup()}, stage_.reduceAxes[1], stage_.reduceAxes[2]};
        made_.left = paddedRead(channelWords(), read_->args[0], channelRead());
    }

    // Words of the whole input with its border.
    TensorRef channelWords() {
        const Span &rows = spans_[0], &columns = spans_[1];
        return addWords({input_->shape[0], groups_ * wordsPerGroup(), rows.extent, columns.extent}, [&](const Indices& i) {
            const Expr y = i[2] - Expr(rows.before), x = i[3] - Expr(columns.before);
            return Bordered{channelWord(i[0], i[1], y, x), both(inside(y, rows, input_->shape[2]), inside(x, columns, input_->shape[3])), borderOfChannels(i[1])};
        });
    }

    Expr paddedRead(const TensorRef& words, const Expr& image, const Expr& channel) const {
        return load(words, {image, channel, read_->args[2] + Expr(spans_[0].before), read_->args[3] + Expr(spans_[1].before)});
    }

    // The words that each place of the kernel reads, pixel by pixel.
    void readColumns() {
        const TensorRef words = channelWords();
        const Axis &row = stage_.reduceAxes[1], &column = stage_.reduceAxes[2], &pixel = stage_.axes[2];
        made_.reduced = {{loops::makeVar("cw"), wordsPerGroup()}, row, column};
        made_.wordStages.push_back(loops::compute(DotProgram::kColumns, DType::i32, {words->shape[0], words->shape[1], row.extent, column.extent, pixel.extent}, [&](const Indices& i) {
            return with(with(with(paddedRead(words, i[0], i[1]), row.var, i[2]), column.var, i[3]), pixel.var, i[4]);
        }));
        made_.left = load(made_.wordStages.back().output, {read_->args[0], channelRead(), Expr(row.var), Expr(column.var), Expr(pixel.var)});
    }

    void readPixels() {
        made_.reduced = {{loops::makeVar("cw"), wordsPerGroup()}};
        const std::int64_t width = input_->shape[3];
        const TensorRef words = addWords({input_->shape[0], groups_ * wordsPerGroup(), input_->shape[2] * width}, [&](const Indices& i) {
            return Bordered{channelWord(i[0], i[1], i[2] / Expr(width), i[2] % Expr(width)), {}, {}};
        });
        made_.left = load(words, {read_->args[0], channelRead(), Expr(stage_.axes[2].var)});
    }

    // Words of the rows that the kernel's rows read, for each row of the output.
    void readRows() {
        const std::int64_t height = stage_.reduceAxes[1].extent, words = wordsFor(height);
        const Span& columns = spans_[1];
        made_.reduced = {{loops::makeVar("hw"), words}, stage_.reduceAxes[2]};
        const TensorRef made = addWords({input_->shape[0], input_->shape[1], stage_.axes[2].extent, words, columns.extent}, [&](const Indices& i) {
            const Expr x = i[4] - Expr(columns.before);
            return Bordered{rowWord(i, x, height), inside(x, columns, input_->shape[3]), borderOfRows(i[3], height)};
        });
        made_.left = load(made, {read_->args[0], with(read_->args[1], stage_.reduceAxes[0].var, Expr(0)), Expr(stage_.axes[2].var), Expr(made_.reduced[0].var), read_->args[3] + Expr(columns.before)});
    }

    Expr rowWord(const Indices& i, const Expr& x, std::int64_t height) const {
        const Expr zero = cast(input_->type, conv_.left.zero);
        return wordOf(input_->type, Sign::none, [&](std::int64_t place) {
            const Expr tap = i[3] * Expr(kBytesInWord) + Expr(place);
            const Expr y = with(with(read_->args[2], stage_.axes[2].var, i[2]), stage_.reduceAxes[1].var, tap);
            const Expr within = inside(y, spans_[0], input_->shape[2]);
            const Expr byte = load(input_, {i[0], i[1], y, x});
            const Expr padded = within.valid() ? select(within, byte, zero) : byte;
            const std::int64_t last = height % kBytesInWord;
            const bool single = height < kBytesInWord;
            return last == 0 || place < last ? padded : single ? byteBeyond(input_->type, Sign::none) : select(tap < Expr(height), padded, byteBeyond(input_->type, Sign::none));
        });
    }

    Expr borderOfRows(const Expr& word, std::int64_t height) const {
        const std::int64_t words = wordsFor(height), last = height % kBytesInWord;
        const Expr whole = made_.leftZero() * onesIn(kBytesInWord), part = made_.leftZero() * onesIn(last);
        if (last == 0 || loops::isConstant(whole, 0))
            return whole;
        return words == 1 ? part : select(equal(word, Expr(words - 1)), part, whole);
    }

    struct Bordered {
        Expr word, inside, border;
    };

    // A stage of words. Where some lie outside of the input, what differs from the border is summed up where there is any.
    TensorRef addWords(const Shape& shape, const std::function<Bordered(const Indices&)>& at) {
        bool leaves = false, plain = false;
        Stage difference = loops::reduce(DotProgram::kBorder, DType::i32, shape, loops::Reduction::sum, {1}, [&](const Indices& i, const Indices&) {
            const Bordered made = at(i);
            leaves = made.inside.valid();
            plain = leaves && loops::isConstant(made.border, 0);
            return loops::ReductionBody{leaves ? made.word - made.border : made.word, made.inside};
        });
        if (!leaves) {
            made_.wordStages.push_back(loops::compute(DotProgram::kLeft, DType::i32, shape, [&](const Indices& i) { return at(i).word; }));
        } else if (plain) {
            difference.output = loops::makeTensor(DotProgram::kLeft, DType::i32, shape);
            made_.wordStages.push_back(std::move(difference));
        } else {
            made_.wordStages.push_back(std::move(difference));
            const TensorRef border = made_.wordStages.back().output;
            made_.wordStages.push_back(loops::compute(DotProgram::kLeft, DType::i32, shape, [&](const Indices& i) { return load(border, i) + at(i).border; }));
        }
        return made_.wordStages.back().output;
    }

    void readWeights() {
        const TensorRef weights = conv_.right.read->tensor;
        const std::size_t dim = taps_ ? 2 : 1;
        const TensorRef words = loops::makeTensor(weights->name, DType::i32, signedWordsShape(weights->shape, dim));
        made_.replaceArgument(weights, words, taps_ ? WeightTransform::tapWords : WeightTransform::channelWords, Layout::rowMajor(4));
        Indices at = conv_.right.read->args, sum{at[0], Expr(0), Expr(0), Expr(0)};
        at[dim] = Expr(made_.reduced[0].var);
        if (taps_)
            at[1] = Expr(0);
        if (made_.reduced.size() == 1)
            at[2] = at[3] = Expr(0);
        sum[dim] = Expr(words->shape[dim] - 1);
        made_.right = load(words, at);
        made_.rightSum = load(words, sum);
    }

    LoweredWorkload& lowered_;
    const IntegerProduct conv_;
    DotProgram made_;
    const Stage stage_;
    const Expr read_;
    const TensorRef input_;
    const std::int64_t channels_, groups_; // channels of a group
    const bool taps_;
    std::vector<Span> spans_; // of rows and columns
};

// Loads of one tensor, which is read in place, go to another that has one dimension for the last two.
Expr withFlatLoads(const Expr& e, const TensorRef& tensor, const TensorRef& flat, const Expr& pixel) {
    if (e->args.empty() && e->op != Op::load)
        return e;
    if (e->op == Op::load && e->tensor == tensor)
        return load(flat, {e->args[0], e->args[1], pixel});
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(withFlatLoads(arg, tensor, flat, pixel));
    return loops::rebuild(e, std::move(args));
}

void flattenPixels(Program& program) {
    const TensorRef sums = program.stages[0].output;
    TensorRef flatSums;
    for (Stage& stage : program.stages) {
        const Shape shape = stage.output->shape;
        const Axis pixel{loops::makeVar("pixel"), shape[2] * shape[3]};
        stage.body = withFlatLoads(stage.body, sums, flatSums, Expr(pixel.var));
        stage.body = with(stage.body, stage.axes[2].var, Expr(pixel.var) / Expr(shape[3]));
        stage.body = with(stage.body, stage.axes[3].var, Expr(pixel.var) % Expr(shape[3]));
        stage.axes = {stage.axes[0], stage.axes[1], pixel};
        stage.output = loops::makeTensor(stage.output->name, stage.output->type, {shape[0], shape[1], pixel.extent});
        if (!flatSums)
            flatSums = stage.output;
    }
    program.outputs[0] = program.stages.back().output;
}

} // namespace

std::optional<IntegerProduct> byteConvolution(const LoweredWorkload& lowered) {
    const auto conv = integerProduct(lowered.program);
    if (!conv || conv->stage != &lowered.program.stages[0] || conv->stage->axes.size() != 4 || conv->stage->reduceAxes.size() != 3 || !conv->stage->output->name.starts_with("conv"))
        return std::nullopt;
    const Stage& stage = *conv->stage;
    const Expr& weights = conv->right.read;
    bool fits = weights->args.size() == 4 && conv->left.read->args.size() == 4 && isVar(weights->args[0], stage.axes[1].var);
    for (std::size_t d = 0; fits && d < 3; ++d)
        fits = isVar(weights->args[d + 1], stage.reduceAxes[d].var) || (stage.reduceAxes[d].extent == 1 && loops::isConstant(weights->args[d + 1], 0));
    for (const Axis& axis : stage.axes)
        fits = fits && !loops::usesVar(conv->left.zero, axis.var);
    const std::size_t argument = argumentOf(lowered, weights->tensor);
    const auto isRows = [](const Layout& layout) { return layout.isRowMajor(); };
    const bool once = std::ranges::none_of(lowered.program.stages, [&](const Stage& other) { return &other != &stage && loops::reads(other, weights->tensor); });
    fits = fits && once && argument < lowered.arguments.size() && lowered.constantArguments[argument] && weights->tensor != conv->left.read->tensor;
    return fits && isRows(lowered.outputLayouts[0]) && std::ranges::all_of(lowered.argumentLayouts, isRows) ? conv : std::nullopt;
}

bool sumsOneChannel(const IntegerProduct& conv) { return conv.stage->reduceAxes[0].extent == 1; }

bool isPointwise(const IntegerProduct& conv) {
    const Stage& stage = *conv.stage;
    const Expr& read = conv.left.read;
    const Shape &in = read->tensor->shape, &out = stage.output->shape;
    return !sumsOneChannel(conv) && stage.reduceAxes[1].extent == 1 && stage.reduceAxes[2].extent == 1 && !stage.guard.valid() && isVar(read->args[2], stage.axes[2].var) &&
           isVar(read->args[3], stage.axes[3].var) && in[2] == out[2] && in[3] == out[3];
}

bool readsColumns(const IntegerProduct& conv) {
    constexpr std::int64_t kLanes = 16, kMostBytes = std::int64_t{512} << 10;
    const Stage& stage = *conv.stage;
    const auto filled = [](std::int64_t count) { return static_cast<double>(count) / static_cast<double>((count + kLanes - 1) / kLanes * kLanes); };
    const std::int64_t width = stage.axes[3].extent, pixels = stage.axes[2].extent * width, places = stage.reduceAxes[1].extent * stage.reduceAxes[2].extent;
    const std::int64_t words = elementCount(conv.left.read->tensor->shape) / (conv.left.read->tensor->shape[2] * conv.left.read->tensor->shape[3]) / kBytesInWord;
    return !sumsOneChannel(conv) && places > 1 && filled(pixels) > 1.2 * filled(width) && words * places * pixels * 4 <= kMostBytes;
}

void makeConvolutionOfWords(LoweredWorkload& lowered) {
    const IntegerProduct conv = *byteConvolution(lowered);
    if (isPointwise(conv) || readsColumns(conv))
        flattenPixels(lowered.program);
    ConvWords(lowered).make();
}

} // namespace tunesmith
