// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTest>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

namespace tunesmith::testing {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

// Graphs of convolutions by random numbers, for the passes that reshape them.
class ConvGraph {
public:
    explicit ConvGraph(std::int64_t opset = 17) : builder_("convolutions") { builder_.setOpset("", opset); }

    GraphBuilder& builder() { return builder_; }
    ValueId input(Shape shape, DType type = DType::f32) { return builder_.addInput("x", TensorType(type, std::move(shape))); }
    ValueId constant(Shape shape) {
        Tensor tensor = Tensor::zeros(DType::f32, std::move(shape));
        for (float& value : tensor.mutableData<float>())
            value = rng_.uniform(-1.0F, 1.0F);
        return builder_.addConstant("", std::move(tensor));
    }
    ValueId conv(ValueId x, Shape weights, Attributes attributes = {}) {
        const std::int64_t out = weights[0];
        return builder_.add("Conv", {x, constant(std::move(weights)), constant({out})}, std::move(attributes));
    }
    ValueId op(const char* name, const std::vector<ValueId>& inputs, Attributes attributes = {}) { return builder_.add(name, inputs, std::move(attributes)); }
    Graph graph(std::vector<ValueId> outputs) {
        builder_.setOutputs(std::move(outputs));
        return take(inferShapes(take(builder_.build())));
    }

private:
    GraphBuilder builder_;
    Rng rng_{5};
};

// What a pass made computes the same, under the same names, and leaves no type to be inferred.
inline void compareReshaped(const Graph& before, const Graph& after) {
    const Graph inferred = take(inferShapes(after));
    for (std::size_t i = 0; i < after.valueCount(); ++i)
        QVERIFY(after.value(ValueId(static_cast<std::int64_t>(i))).type == inferred.value(ValueId(static_cast<std::int64_t>(i))).type);
    for (std::size_t i = 0; i < before.outputs().size(); ++i) {
        QCOMPARE(after.value(after.outputs()[i]).name, before.value(before.outputs()[i]).name);
        QCOMPARE(after.value(after.outputs()[i]).type.shape(), before.value(before.outputs()[i]).type.shape());
    }
    const std::vector<Tensor> inputs = take(randomInputs(before, 3));
    for (const Difference& difference : compareTensors(take(Interpreter(before).run(inputs)), take(Interpreter(after).run(inputs))))
        QVERIFY2(difference.equal, difference.text.c_str());
}

} // namespace tunesmith::testing
