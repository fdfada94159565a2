// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>
#include <complex>
#include <limits>
#include <numbers>

#include "core/base/scratch.h"
#include "core/ops/kernel.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// DFT and STFT. The last dimension of a signal holds real and imaginary parts, or real ones alone; that of a spectrum both.
namespace tunesmith::ops {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

constexpr std::size_t kLongestSum = 64;

Signal transformed(const Signal& x, double sign);

// Any length as a convolution, which is done in a power of two (Bluestein, 1970).
Signal transformedAsConvolution(const Signal& x, double sign) {
    const std::size_t n = x.size(), size = std::bit_ceil(2 * n - 1);
    Signal chirp(n), a(size), b(size), y(n);
    for (std::size_t k = 0; k < n; ++k) {
        chirp[k] = std::polar(1.0, sign * std::numbers::pi * static_cast<double>(k * k % (2 * n)) / static_cast<double>(n));
        a[k] = x[k] * chirp[k];
        b[k] = b[(size - k) % size] = std::conj(chirp[k]);
    }
    a = transformed(a, -1);
    b = transformed(b, -1);
    for (std::size_t k = 0; k < size; ++k)
        a[k] *= b[k];
    a = transformed(a, 1);
    for (std::size_t k = 0; k < n; ++k)
        y[k] = chirp[k] * a[k] / static_cast<double>(size);
    return y;
}

// Halves while the length is even (Cooley and Tukey, 1965); short odd ones are the defining sum. `sign` is -1 forwards.
Signal transformed(const Signal& x, double sign) {
    const std::size_t n = x.size();
    if (n % 2 != 0 && n > kLongestSum)
        return transformedAsConvolution(x, sign);
    Signal y(n), turns(n);
    for (std::size_t k = 0; k < n; ++k)
        turns[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    if (n % 2 != 0) {
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t i = 0, turn = 0; i < n; ++i, turn = (turn + k) % n)
                y[k] += x[i] * turns[turn];
        return y;
    }
    Signal even(n / 2), odd(n / 2);
    for (std::size_t i = 0; i < n / 2; ++i) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    even = transformed(even, sign);
    odd = transformed(odd, sign);
    for (std::size_t k = 0; k < n / 2; ++k) {
        y[k] = even[k] + turns[k] * odd[k];
        y[k + n / 2] = even[k] - turns[k] * odd[k];
    }
    return y;
}

// Elements of a tensor whose last dimension is 1 (real) or 2, as complex numbers.
struct ComplexView {
    Scratch<double> values;
    std::int64_t parts;
    explicit ComplexView(const Tensor& tensor) : parts(tensor.shape().back()) {
        const Tensor wide = tensor.cast(DType::f64);
        values.assign(wide.data<double>().begin(), wide.data<double>().end());
    }
    Complex operator[](std::int64_t index) const {
        const auto at = static_cast<std::size_t>(index * parts);
        return {values[at], parts == 2 ? values[at + 1] : 0.0};
    }
};

bool onesided(const Node& node, std::int64_t fallback) { return node.intAttr("onesided", fallback) != 0; }

Status requireParts(const OpInputs& in) {
    TS_TRY(requireFloat(in, 0));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    if (x.size() < 2 || (x.back().known() && x.back().extent != 1 && x.back().extent != 2))
        return in.error("input " + in.type(0).text() + " must end with 1 (real) or 2 (complex) numbers for each element");
    return {};
}

Status requireSingle(const OpInputs& in, std::size_t index, const char* what, std::int64_t least) {
    if (!in.has(index))
        return {};
    TS_TRY(requireIndexType(in, index));
    if (in.type(index).isStatic() && elementCount(in.type(index).shape()) != 1)
        return in.error("its " + std::string(what) + " must be a single number, not " + in.type(index).text());
    if (in.isConstant(index) && in.constant(index).asInt(0) < least)
        return in.error("its " + std::string(what) + " cannot be " + std::to_string(in.constant(index).asInt(0)));
    return {};
}

// What a DFT does: an attribute until opset 19 says along which axis, an input since.
struct DftPlan {
    bool inverse, half;
    explicit DftPlan(const Node& node) : inverse(node.intAttr("inverse", 0) != 0), half(onesided(node, 0)) {}
    bool toReal() const { return inverse && half; }
    std::int64_t lengthOf(std::int64_t extent) const { return toReal() ? 2 * (extent - 1) : extent; }
    std::int64_t bins(std::int64_t length) const { return half && !inverse ? length / 2 + 1 : length; }
};

Result<std::size_t> dftAxis(const OpInputs& in, std::size_t rank) {
    const std::int64_t stated = in.opset < 20 ? in.node.intAttr("axis", 1) : in.isConstant(2) ? in.constant(2).asInt(0) : -2;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, stated, rank));
    if (axis + 1 == rank)
        return in.error("axis " + std::to_string(stated) + " is that of real and imaginary parts");
    return axis;
}

Status inferDft(InferContext& in) {
    TS_TRY(requireParts(in));
    TS_TRY(requireSingle(in, 1, "length", 1));
    TS_TRY(requireSingle(in, 2, "axis", std::numeric_limits<std::int64_t>::min()));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    const DftPlan plan(in.node);
    Dims dims = *in.type(0).dims;
    if (plan.half && dims.back().known() && dims.back().extent != (plan.inverse ? 2 : 1))
        return in.error(plan.inverse ? "the inverse of a one-sided spectrum needs complex input"
                                     : "a one-sided spectrum needs real input");
    dims.back() = plan.toReal() ? 1 : 2;
    if (in.opset >= 20 && in.has(2) && !in.isConstant(2)) {
        std::fill(dims.begin(), dims.end() - 1, Dim());
    } else {
        TS_ASSIGN(const std::size_t axis, dftAxis(in, dims.size()));
        Dim& along = dims[axis];
        if (in.has(1))
            along = in.isConstant(1) ? Dim(plan.bins(in.constant(1).asInt(0))) : Dim();
        else if (plan.half)
            along = along.known() ? Dim(std::max<std::int64_t>(plan.bins(plan.lengthOf(along.extent)), 0)) : Dim();
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

// One line of a one-sided spectrum, completed: the second half mirrors the first.
Signal mirrored(Signal line, std::int64_t given) {
    const auto n = static_cast<std::int64_t>(line.size());
    for (std::int64_t k = given; k < n; ++k)
        line[static_cast<std::size_t>(k)] = n - k < given ? std::conj(line[static_cast<std::size_t>(n - k)]) : Complex();
    line[0] = line[0].real();
    if (n % 2 == 0 && n / 2 < given)
        line[static_cast<std::size_t>(n / 2)] = line[static_cast<std::size_t>(n / 2)].real();
    return line;
}

template <class T> void store(T* target, std::int64_t index, const Complex& value, std::int64_t parts) {
    target[index * parts] = static_cast<T>(value.real());
    if (parts == 2)
        target[index * parts + 1] = static_cast<T>(value.imag());
}

Status evalDft(EvalContext& context) {
    const Tensor& input = context.input(0);
    const OpInputs in(context.node, context.opset, std::vector<TensorType>(context.inputs.size()), context.inputs);
    TS_ASSIGN(const std::size_t axis, dftAxis(in, input.rank()));
    const DftPlan plan(context.node);
    const Shape &from = input.shape(), &to = context.outputs[0].shape();
    const std::int64_t extent = from[axis];
    const std::int64_t length = context.has(1) ? context.input(1).asInt(0) : plan.lengthOf(extent);
    const std::int64_t inner = elementCount(std::span(from).subspan(axis + 1)) / std::max<std::int64_t>(from.back(), 1);
    const std::int64_t lines = elementCount(std::span(from).first(axis)) * inner;
    if (length < 1 || context.outputs[0].count() == 0)
        return {};
    const ComplexView x(input);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        T* const y = context.outputs[0].mutableData<T>().data();
        for (std::int64_t n = 0; n < lines; ++n) {
            const std::int64_t outer = n / inner, rest = n % inner, given = std::min(extent, length);
            Signal line(static_cast<std::size_t>(length));
            for (std::int64_t i = 0; i < given; ++i)
                line[static_cast<std::size_t>(i)] = x[(outer * extent + i) * inner + rest];
            if (plan.toReal())
                line = mirrored(std::move(line), std::min(given, length / 2 + 1));
            line = transformed(line, plan.inverse ? 1 : -1);
            const double scale = plan.inverse ? 1 / static_cast<double>(length) : 1;
            for (std::int64_t k = 0; k < to[axis]; ++k)
                store(y, (outer * to[axis] + k) * inner + rest, line[static_cast<std::size_t>(k)] * scale, to.back());
        }
    });
    return {};
}

// STFT: signal [N, length, 1 or 2], the step from one frame to the next, a window, the length of a frame.
Status inferFrameLength(const InferContext& in, Dim& length) {
    if (in.has(2)) {
        TS_TRY(requireSameType(in, 0, 2));
        if (in.type(2).dims && in.type(2).dims->size() != 1)
            return in.error("its window " + in.type(2).text() + " must have one dimension");
        length = in.type(2).dims ? in.type(2).dims->front() : Dim();
    }
    if (in.isConstant(3)) {
        const std::int64_t stated = in.constant(3).asInt(0);
        if (length.known() && length.extent != stated)
            return in.error("its window has " + std::to_string(length.extent) + " elements and its frames " + std::to_string(stated));
        length = stated;
    }
    if (!in.has(2) && !in.has(3))
        return in.error("needs a window or the length of a frame");
    return {};
}

Status inferStft(InferContext& in) {
    TS_TRY(requireParts(in));
    TS_TRY(requireSingle(in, 1, "step", 1));
    TS_TRY(requireSingle(in, 3, "length of a frame", 1));
    Dim length;
    TS_TRY(inferFrameLength(in, length));
    const bool half = onesided(in.node, 1);
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    const Dims& signal = *in.type(0).dims;
    if (signal.size() != 3)
        return in.error("input " + in.type(0).text() + " must have three dimensions");
    if (half && signal[2].known() && signal[2].extent != 1)
        return in.error("a one-sided spectrum needs real input; set onesided = 0");
    Dims dims{signal[0], Dim(), Dim(), 2};
    if (length.known()) {
        if (length.extent < 1 || (signal[1].known() && signal[1].extent < length.extent))
            return in.error("a frame of " + std::to_string(length.extent) + " elements does not fit into its signal");
        dims[2] = half ? length.extent / 2 + 1 : length.extent;
        if (signal[1].known() && in.isConstant(1))
            dims[1] = (signal[1].extent - length.extent) / in.constant(1).asInt(0) + 1;
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalStft(EvalContext& context) {
    const Tensor& signal = context.input(0);
    const Shape& to = context.outputs[0].shape();
    const std::int64_t step = context.input(1).asInt(0);
    const std::int64_t length = context.has(2) ? context.input(2).count() : context.input(3).asInt(0);
    const ComplexView x(signal);
    visitFloat(signal.type(), [&](auto tag) {
        using T = decltype(tag);
        T* const y = context.outputs[0].mutableData<T>().data();
        for (std::int64_t n = 0; n < to[0] * to[1]; ++n) {
            const std::int64_t start = n / to[1] * signal.shape()[1] + n % to[1] * step;
            Signal frame;
            for (std::int64_t i = 0; i < length; ++i)
                frame.push_back(x[start + i] * (context.has(2) ? context.input(2).asDouble(i) : 1));
            frame = transformed(frame, -1);
            for (std::int64_t k = 0; k < to[2]; ++k)
                store(y, n * to[2] + k, frame[static_cast<std::size_t>(k)], 2);
        }
    });
    return {};
}

} // namespace

void registerFourier(OperatorList& list) {
    addOperator(list, "DFT", Fusion::opaque, 17, {1, 3}, inferDft, evalDft);
    addOperator(list, "STFT", Fusion::opaque, 17, {2, 4}, inferStft, evalStft);
}

} // namespace tunesmith::ops
