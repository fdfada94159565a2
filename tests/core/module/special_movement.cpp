// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

Tensor ints(const Ints& values) { return Tensor::ofInts(values); }

// What moves elements moves all of them: tensors with a remainder, of one element and of none.
CaseMaker of(const std::vector<Shape>& shapes, const std::vector<Tensor>& further = {}, const Attributes& attributes = {}, int outputs = 1, std::int64_t opset = 0) {
    return [=](DType type) {
        SpecialCases cases;
        for (const Shape& shape : shapes) {
            SpecialCase each{{everySpecial(type, shape)}, attributes, {}, outputs, opset};
            for (const Tensor& input : further) {
                each.constants.push_back(each.inputs.size());
                each.inputs.push_back(input);
            }
            cases.push_back(std::move(each));
        }
        return cases;
    };
}

SpecialCases concats(DType type) {
    return {{{everySpecial(type, {3, 7}), everySpecial(type, {3, 0}), everySpecial(type, {3, 2})}, {{"axis", std::int64_t{1}}}},
            {{everySpecial(type, {0, 7}), everySpecial(type, {5, 7})}, {{"axis", std::int64_t{0}}}}, {{everySpecial(type, {0}), everySpecial(type, {0})}, {{"axis", std::int64_t{0}}}}};
}

SpecialCases paddings(DType type) {
    const Tensor value = picked(specials(type), {}, [](std::int64_t) { return 0; });
    SpecialCases cases{{{everySpecial(type, {3, 17}), ints({1, 2, 0, 3}), value}, {}, {1, 2}}, {{everySpecial(type, {0, 4}), ints({1, 0, 1, 0}), value}, {}, {1, 2}},
                       {{everySpecial(type, {3, 17}), ints({-1, 2, 0, -3})}, {}, {1}}};
    for (const char* mode : {"reflect", "edge"})
        cases.push_back({{everySpecial(type, {3, 17}), ints({1, 2, 0, 3})}, {{"mode", std::string(mode)}}, {1}});
    return cases;
}

SpecialCases oneHots(DType type) {
    SpecialCases cases;
    if (isFloat(type) || type == DType::boolean)
        return cases;
    const Tensor values = tensorOf(DType::f32, {2}, {kInfinity, kNan}), depth = Tensor::scalar(std::int64_t{5});
    for (const Shape& shape : std::vector<Shape>{{37}, {0}})
        cases.push_back({{everySpecial(type, shape), depth, values}, {}, {1}});
    return cases;
}

SpecialCases resizes(DType type) {
    SpecialCases cases;
    if (!isFloat(type))
        return cases;
    for (const char* mode : {"nearest", "linear", "cubic"})
        cases.push_back({{rowsWithSpecials(type, {1, 2, 5, 9}, true), Tensor(), tensorOf(DType::f32, {4}, {1, 1, 2, 1.5})}, {{"mode", std::string(mode)}}, {2}, 1, 13});
    Rng rng(4);
    for (const char* mode : {"linear", "cubic"}) // float32 rounds the positions of this axis
        cases.push_back({{moderate(rng, type, {8192}), Tensor(), Tensor(), ints({3000})}, {{"mode", std::string(mode)}}, {3}, 1, 13});
    return cases;
}

SpecialCases upsamplings(DType type) { return {{{everySpecial(type, {1, 2, 3, 5}), tensorOf(DType::f32, {4}, {1, 1, 2, 2})}, {}, {1}, 1, 9}}; }

SpecialCases fills(DType type) {
    SpecialCases cases;
    if (type == DType::i64)
        for (const Ints& shape : std::vector<Ints>{{3, 5}, {0, 4}})
            cases.push_back({{ints(shape)}, {{"value", tensorOf(DType::f32, {1}, {kNan})}}, {0}});
    return cases;
}

SpecialCases scatters(DType type) {
    const Tensor places = ints({0, 4});
    return {{{everySpecial(type, {2, 3, 6, 7}), everySpecial(type, {2, 3, 2, 7}, 4), places}}, {{everySpecial(type, {2, 3, 6, 7}), everySpecial(type, {2, 3, 2, 7}, 4), places}, {}, {2}},
            {{everySpecial(type, {2, 3, 6, 0}), everySpecial(type, {2, 3, 2, 0}), places}}};
}

} // namespace

void addMovementCases(std::map<std::string, CaseMaker>& table) {
    const std::vector<Shape> matrices{{3, 17}, {1, 1}, {0, 5}}, images{{1, 8, 4, 6}, {0, 4, 2, 2}};
    table["Concat"] = concats;
    table["Pad"] = paddings;
    table["OneHot"] = oneHots;
    table["Resize"] = resizes;
    table["Upsample"] = upsamplings;
    table["ConstantOfShape"] = fills;
    table["TensorScatter"] = scatters;
    for (const char* op : {"Identity", "Flatten", "Transpose", "Dropout", "EyeLike"})
        table[op] = of(matrices);
    table["Split"] = of({{3, 17}, {3, 0}}, {}, {{"axis", std::int64_t{0}}}, 3, 13);
    table["Slice"] = of({{3, 17}, {3, 2}, {0, 17}}, {ints({2, 12}), ints({-4, 1}), ints({0, 1}), ints({-1, -2})});
    table["Gather"] = of({{3, 17}, {3, 0}}, {ints({2, -3, 0})});
    table["GatherElements"] = of({{3, 3}}, {Tensor::of<std::int64_t>({2, 3}, Ints{2, -3, 0, 1, 1, 2})});
    table["GatherND"] = of({{3, 17}, {3, 0}}, {Tensor::of<std::int64_t>({2, 1}, Ints{2, -3})});
    table["Expand"] = of({{3, 1}, {1}}, {ints({2, 3, 7})});
    table["Tile"] = of({{3, 5}, {0, 5}}, {ints({2, 3})});
    table["Reshape"] = of({{3, 17}, {0, 17}}, {ints({17, -1})}, {{"allowzero", std::int64_t{0}}}, 1, 13);
    table["Squeeze"] = of({{1, 17}, {1, 0}}, {ints({0})});
    table["Unsqueeze"] = of(matrices, {ints({1})});
    table["DepthToSpace"] = of(images, {}, {{"blocksize", std::int64_t{2}}});
    table["SpaceToDepth"] = of(images, {}, {{"blocksize", std::int64_t{2}}});
    table["CenterCropPad"] = of({{3, 17}, {0, 5}}, {ints({5, 8})});
    table["Crop"] = of({{1, 2, 5, 7}}, {}, {{"border", Ints{1, 1, 1, 1}}}, 1, 1);
    table["Trilu"] = of(matrices);
    table["ReverseSequence"] = of({{3, 4}}, {ints({3, 1, 2, 3})});
}

} // namespace tunesmith::testing
