// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>

#include "core/base/rng.h"
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// A random convolution before it is written: its extents and attributes.
struct ConvChoice {
    std::int64_t batch = 1, group = 1, inPerGroup = 1, outPerGroup = 1;
    std::vector<std::int64_t> extents, kernel, strides, dilations, pads;

    Shape data() const;
    Shape weights() const;
    std::int64_t outputs() const { return group * outPerGroup; }
    std::map<std::string, Attribute> attributes() const;
};

// A small random model that a rule's sample adds nodes to. What rules must be prepared for is drawn here: opsets, types, weights that are nodes or
// no weights at all, and others who read what lies between.
class SampleModel {
public:
    SampleModel(const std::shared_ptr<OperatorTable>& table, const std::vector<std::int64_t>& opsets, Rng& rng);

    Draft& draft() { return draft_; }
    Rng& rng() { return rng_; }
    DType type() const { return type_; }
    std::int64_t opset() const { return draft_.table().opset(); }

    bool chance(double probability) { return rng_.chance(probability); }
    std::int64_t between(std::int64_t low, std::int64_t high) { // low where nothing is between
        return high <= low ? low : low + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1)));
    }
    template <class T> T pick(std::initializer_list<T> choices) { return choices.begin()[rng_.below(choices.size())]; }
    Shape shape(std::size_t rank, std::int64_t most = 4); // often with extents of 1, now and then of 0
    std::vector<std::int64_t> permutation(std::size_t rank);

    ValueNo input(const Shape& shape);
    ValueNo weight(const Shape& shape);   // constants, nodes on constants, now and then an input after all
    void shareWeights() { shared_ = true; } // somebody else reads all weights that are drawn from now on
    ValueNo positive(const Shape& shape); // between 0.5 and 2
    ValueNo number(double value, std::size_t rank = 0);
    ValueNo ints(const std::vector<std::int64_t>& values) { return draft_.constant(Tensor::ofInts(values)); }
    // Repeated along all axes but one, or as good as that, or not at all.
    ValueNo alongAxis(const Shape& shape, std::size_t axis);

    ConvChoice chooseConv();
    ValueNo conv(const ConvChoice& choice, ValueNo data, bool biased);
    ValueNo anyConv(const ConvChoice& choice); // now and then a ConvTranspose

    ValueNo unary(ValueNo value);    // one of the operators that map elements
    ValueNo reshaped(ValueNo value); // Reshape, Flatten, Squeeze or Unsqueeze, written as the opset has them
    ValueNo transposed(ValueNo value);

    std::optional<Draft> finish(ValueNo result);

private:
    Tensor random(const Shape& shape, double low, double high, double step);
    void readBesides(std::vector<ValueNo>& outputs);
    void readShared(std::vector<ValueNo>& outputs);
    Shape regrouped(std::int64_t count);

    Draft draft_;
    Rng& rng_;
    DType type_;
    bool shared_ = false;
    std::vector<ValueNo> beside_; // read by others
};

} // namespace tunesmith::rewrite
