// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/onnx/sample_recipe.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kVocabulary = 8192, kWidth = 128, kHeads = 2, kSequence = 128, kHidden = 4 * kWidth;

// A transformer encoder of the BERT kind (Devlin et al., 2019), written out in the pieces that PyTorch's
// exporter uses.
class Encoder {
public:
    explicit Encoder(SampleRecipe& recipe) : recipe_(recipe) {
        two_ = recipe.constant("two", Tensor::scalar(2.0f));
        one_ = recipe.constant("one", Tensor::scalar(1.0f));
        half_ = recipe.constant("half", Tensor::scalar(0.5f));
        rootOfTwo_ = recipe.constant("root_of_two", Tensor::scalar(std::sqrt(2.0f)));
        epsilon_ = recipe.constant("epsilon", Tensor::scalar(1e-5f));
        rootOfHead_ =
            recipe.constant("root_of_head", Tensor::scalar(std::sqrt(static_cast<float>(kWidth / kHeads))));
        split_ = recipe.constant("split_heads", Tensor::ofInts({1, kSequence, kHeads, kWidth / kHeads}));
        join_ = recipe.constant("join_heads", Tensor::ofInts({1, kSequence, kWidth}));
    }

    ValueId embed(ValueId ids) {
        const ValueId table = recipe_.normal("embed.weight", {kVocabulary, kWidth}, 1.0);
        const ValueId words = recipe_.op("Gather", {table, ids}, {{"axis", std::int64_t{0}}}, "embed");
        const ValueId places = recipe_.normal("position.weight", {1, kSequence, kWidth}, 0.1);
        return norm(recipe_.op("Add", {words, places}, {}, "position"), "norm");
    }

    ValueId layer(ValueId input, const std::string& name) {
        const ValueId attended =
            recipe_.op("Add", {input, attention(input, name)}, {}, name + ".attention.add");
        const ValueId normed = norm(attended, name + ".norm1");
        const ValueId up = gelu(dense(normed, kWidth, kHidden, name + ".up"), name + ".gelu");
        const ValueId down = dense(up, kHidden, kWidth, name + ".down");
        return norm(recipe_.op("Add", {normed, down}, {}, name + ".add"), name + ".norm2");
    }

private:
    ValueId dense(ValueId input, std::int64_t in, std::int64_t out, const std::string& name) {
        const ValueId weight =
            recipe_.normal(name + ".weight", {in, out}, std::sqrt(1.0 / static_cast<double>(in)));
        const ValueId product = recipe_.op("MatMul", {input, weight}, {}, name + ".matmul");
        return recipe_.op("Add", {product, recipe_.uniform(name + ".bias", out, -0.05f, 0.05f)}, {}, name);
    }

    ValueId norm(ValueId input, const std::string& name) {
        const std::map<std::string, Attribute> last{{"axes", Ints{-1}}, {"keepdims", std::int64_t{1}}};
        const ValueId mean = recipe_.op("ReduceMean", {input}, last, name + ".mean");
        const ValueId centred = recipe_.op("Sub", {input, mean}, {}, name + ".sub");
        const ValueId square = recipe_.op("Pow", {centred, two_}, {}, name + ".pow");
        const ValueId variance = recipe_.op("ReduceMean", {square}, last, name + ".variance");
        const ValueId safe = recipe_.op("Add", {variance, epsilon_}, {}, name + ".epsilon");
        const ValueId unit =
            recipe_.op("Div", {centred, recipe_.op("Sqrt", {safe}, {}, name + ".sqrt")}, {}, name + ".div");
        const ValueId scaled = recipe_.op(
            "Mul", {unit, recipe_.uniform(name + ".weight", kWidth, 0.8f, 1.2f)}, {}, name + ".mul");
        return recipe_.op("Add", {scaled, recipe_.uniform(name + ".bias", kWidth, -0.1f, 0.1f)}, {}, name);
    }

    ValueId heads(ValueId input, const std::string& name, const Ints& order) {
        const ValueId projected = dense(input, kWidth, kWidth, name);
        const ValueId split = recipe_.op("Reshape", {projected, split_}, {}, name + ".split");
        return recipe_.op("Transpose", {split}, {{"perm", order}}, name + ".transpose");
    }

    ValueId attention(ValueId input, const std::string& name) {
        const ValueId query = heads(input, name + ".query", {0, 2, 1, 3});
        const ValueId key = heads(input, name + ".key", {0, 2, 3, 1});
        const ValueId value = heads(input, name + ".value", {0, 2, 1, 3});
        const ValueId product = recipe_.op("MatMul", {query, key}, {}, name + ".scores");
        const ValueId scores = recipe_.op("Div", {product, rootOfHead_}, {}, name + ".scale");
        const ValueId weights =
            recipe_.op("Softmax", {scores}, {{"axis", std::int64_t{-1}}}, name + ".softmax");
        const ValueId mixed = recipe_.op("MatMul", {weights, value}, {}, name + ".mix");
        const ValueId back = recipe_.op("Transpose", {mixed}, {{"perm", Ints{0, 2, 1, 3}}}, name + ".back");
        return dense(recipe_.op("Reshape", {back, join_}, {}, name + ".join"), kWidth, kWidth, name + ".out");
    }

    // x (1 + erf(x / sqrt 2)) / 2
    ValueId gelu(ValueId input, const std::string& name) {
        const ValueId erf =
            recipe_.op("Erf", {recipe_.op("Div", {input, rootOfTwo_}, {}, name + ".div")}, {}, name + ".erf");
        const ValueId gate = recipe_.op("Add", {erf, one_}, {}, name + ".add");
        return recipe_.op("Mul", {recipe_.op("Mul", {input, gate}, {}, name + ".mul"), half_}, {}, name);
    }

    SampleRecipe& recipe_;
    ValueId two_, one_, half_, rootOfTwo_, epsilon_, rootOfHead_, split_, join_;
};

} // namespace

Result<Graph> buildEncoder(std::uint64_t seed) {
    SampleRecipe recipe("encoder", seed);
    const ValueId ids = recipe.builder().addInput("input_ids", TensorType(DType::i64, Shape{1, kSequence}));
    Encoder encoder(recipe);
    ValueId value = encoder.embed(ids);
    for (int i = 0; i < 2; ++i)
        value = encoder.layer(value, "layer" + std::to_string(i));
    const ValueId first = recipe.constant("first_token", Tensor::scalar<std::int64_t>(0));
    const ValueId token = recipe.op("Gather", {value, first}, {{"axis", std::int64_t{1}}}, "token");
    return recipe.finish(token, kWidth, 2, "head");
}

Result<Graph> buildMlp(std::uint64_t seed) {
    SampleRecipe recipe("mlp", seed);
    ValueId value = recipe.builder().addInput("input", TensorType(DType::f32, Shape{1, 784}));
    value = recipe.op("Relu", {recipe.linear(value, 784, 512, "fc1", 2.0)}, {}, "relu1");
    value = recipe.op("Relu", {recipe.linear(value, 512, 256, "fc2", 2.0)}, {}, "relu2");
    return recipe.finish(value, 256, 10, "fc3");
}

} // namespace tunesmith
