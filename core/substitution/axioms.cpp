// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/axioms.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>

#include "core/substitution/rule_text.h"

namespace tunesmith::substitution {
namespace {

enum class Legal : std::uint8_t {
    either, // side
    left,
    parts, // the operands of the left side
};

// In the equation, # and @ stand for an axis, @ for a greater one, and ! for a kernel. Variables are a, b, ... in the order in which they occur.
// In conditions "a1=b0" an extent is a variable and an axis, two of them a product; L is the left side. Beyond the rank, extents are 0.
struct AxiomText {
    const char* name;
    const char* equation;
    const char* shapes; // of the variables in turn: m a matrix, x an image, w weights of 3x3, k smaller weights, p of 1x1, s a number, c an image of parts,
    // i, v, 4, o and f what fits constants, f with the kernel behind it
    const char* conditions = "";
    Legal legal = Legal::either;
};

constexpr AxiomText kElementwise[] = {
    {"sums commute", "add(a, b) = add(b, a)", "xx"},
    {"sums associate", "add(add(a, b), c) = add(a, add(b, c))", "xxx"},
    {"products commute", "mul(a, b) = mul(b, a)", "xx"},
    {"products associate", "mul(mul(a, b), c) = mul(a, mul(b, c))", "xxx"},
    {"products of sums", "mul(add(a, b), c) = add(mul(a, c), mul(b, c))", "xxx"},
    {"product with ones", "mul(a, ones) = a", "o", "", Legal::left},
    {"multiples of sums", "scale(add(a, b), c) = add(scale(a, c), scale(b, c))", "xxs"},
    {"multiples of products", "scale(mul(a, b), c) = mul(scale(a, c), b)", "xxs"},
    {"multiples commute", "scale(scale(a, b), c) = scale(scale(a, c), b)", "xss"},
    {"sums of factors", "scale(a, add(b, c)) = add(scale(a, b), scale(a, c))", "xss", "b1=c1 b2=c2"},
    {"products of factors", "scale(a, mul(b, c)) = scale(scale(a, b), c)", "xss", "b1=c1 b2=c2"},
    {"relu twice", "relu(relu(a)) = relu(a)", "x"},
};

constexpr AxiomText kMatrices[] = {
    {"matmul associates", "matmul(matmul(a, b), c) = matmul(a, matmul(b, c))", "mmm"},
    {"matmul with a sum", "matmul(a, add(b, c)) = add(matmul(a, b), matmul(a, c))", "mmm"},
    {"matmul of a sum", "matmul(add(a, b), c) = add(matmul(a, c), matmul(b, c))", "mmm"},
    {"matmul of a multiple", "matmul(scale(a, b), c) = scale(matmul(a, c), b)", "msm"},
    {"matmul with a multiple", "matmul(a, scale(b, c)) = scale(matmul(a, b), c)", "mms"},
    {"matmul with the identity", "matmul(a, product_identity) = a", "i", "", Legal::left},
    {"matmul of the identity", "matmul(product_identity, a) = a", "i", "", Legal::left},
    {"transposed twice", "transpose(transpose(a)) = a", "m", "", Legal::left},
    {"transposed matmul", "transpose(matmul(a, b)) = matmul(transpose(b), transpose(a))", "mm"},
    {"transposed sum", "transpose(add(a, b)) = add(transpose(a), transpose(b))", "mm"},
    {"transposed product", "transpose(mul(a, b)) = mul(transpose(a), transpose(b))", "mm"},
    {"transposed multiple", "transpose(scale(a, b)) = scale(transpose(a), b)", "ms"},
    {"transposed relu", "transpose(relu(a)) = relu(transpose(a))", "m"},
    {"transposed identity", "transpose(product_identity) = product_identity", ""},
};

constexpr AxiomText kConcats[] = {
    {"concat associates", "concat#(concat#(a, b), c) = concat#(a, concat#(b, c))", "xxx"},
    {"concats along two axes", "concat#(concat@(a, b), concat@(c, d)) = concat@(concat#(a, c), concat#(b, d))", "xxxx", "a@=c@ a#=b#"},
    {"first part of a concat", "split#a(concat#(a, b)) = a", "xx", "", Legal::left},
    {"second part of a concat", "split#b(concat#(a, b)) = b", "xx", "", Legal::left},
    {"concat of the parts", "concat#(split#a(a), split#b(a)) = a", "c", "", Legal::parts},
    {"sum of concats", "add(concat#(a, b), concat#(c, d)) = concat#(add(a, c), add(b, d))", "xxxx", "a#=c#"},
    {"product of concats", "mul(concat#(a, b), concat#(c, d)) = concat#(mul(a, c), mul(b, d))", "xxxx", "a#=c#"},
    {"multiple of a concat", "scale(concat#(a, b), c) = concat#(scale(a, c), scale(b, c))", "xxs"},
    {"relu of a concat", "relu(concat#(a, b)) = concat#(relu(a), relu(b))", "xx"},
    {"transposed concat of rows", "transpose(concat0(a, b)) = concat1(transpose(a), transpose(b))", "mm"},
    {"transposed concat of columns", "transpose(concat1(a, b)) = concat0(transpose(a), transpose(b))", "mm"},
    {"matmul of a concat of rows", "matmul(concat0(a, b), c) = concat0(matmul(a, c), matmul(b, c))", "mmm"},
    {"matmul with a concat of columns", "matmul(a, concat1(b, c)) = concat1(matmul(a, b), matmul(a, c))", "mmm"},
    {"matmul of concats", "matmul(concat1(a, b), concat0(c, d)) = add(matmul(a, c), matmul(b, d))", "mmmm", "a1=c0"},
};

constexpr AxiomText kImages[] = {
    {"conv of a sum", "conv(add(a, b), c) = add(conv(a, c), conv(b, c))", "xxw", "a1=b1"},
    {"conv with a sum", "conv(a, add(b, c)) = add(conv(a, b), conv(a, c))", "xww", "b1=c1 b2=c2 b3=c3"},
    {"conv of a multiple", "conv(scale(a, b), c) = scale(conv(a, c), b)", "xsw"},
    {"conv with a multiple", "conv(a, scale(b, c)) = scale(conv(a, b), c)", "xws"},
    {"conv and relu", "conv_relu(a, b) = relu(conv(a, b))", "xw"},
    {"conv of a batch", "conv(concat0(a, b), c) = concat0(conv(a, c), conv(b, c))", "xxw", "a1=b1"},
    {"filters of one group", "conv(a, concat0(b, c)) = concat1(conv(a, b), conv(a, c))", "xww", "a1=b1 b1=c1 b2=c2 b3=c3"},
    {"channels of one group", "conv(concat1(a, b), concat1(c, d)) = add(conv(a, c), conv(b, d))", "xxww", "a1=c1 b1=d1 c2=d2 c3=d3"},
    {"groups side by side", "concat1(conv(a, b), conv(c, d)) = conv(concat1(a, c), concat0(b, d))", "xwxw", "b1=d1 b2=d2 b3=d3 b0c1=d0a1", Legal::left},
    {"two groups", "conv(concat1(a, b), concat0(c, d)) = concat1(conv(a, c), conv(b, d))", "xxww", "a1=c1 b1=d1 c1=d1 c0=d0 c2=d2 c3=d3"},
    {"conv with the identity", "conv(a, conv_identity!) = a", "4", "L1=a1", Legal::left},
    {"conv with pool weights", "conv(a, pool_weights) = average_pool(a)", "4", "L1=a1", Legal::left},
    {"conv with means of the identity", "conv(a, average_pool(conv_identity33)) = average_pool(a)", "4", "L1=a1", Legal::left},
    {"mean of points", "average_pool(conv(a, b)) = conv(average_pool(a), b)", "xp", "b2= b3="},
    {"one group of channels that are there twice", "conv(concat1(a, a), b) = conv(a, b)", "xw", "a1=b1", Legal::left},
    {"conv with enlarged weights", "conv(a, enlarge(b)) = conv(a, b)", "xk", "", Legal::left},
    {"enlarged sum", "enlarge(add(a, b)) = add(enlarge(a), enlarge(b))", "kk", "a2=b2 a3=b3"},
    {"enlarged product", "enlarge(mul(a, b)) = mul(enlarge(a), enlarge(b))", "kk", "a2=b2 a3=b3"},
    {"enlarged multiple", "enlarge(scale(a, b)) = scale(enlarge(a), b)", "ks"},
    {"enlarged relu", "enlarge(relu(a)) = relu(enlarge(a))", "k"},
    {"enlarged concat of filters", "enlarge(concat0(a, b)) = concat0(enlarge(a), enlarge(b))", "kk", "a2=b2 a3=b3"},
    {"enlarged concat of channels", "enlarge(concat1(a, b)) = concat1(enlarge(a), enlarge(b))", "kk", "a2=b2 a3=b3"},
    {"mean of a sum", "average_pool(add(a, b)) = add(average_pool(a), average_pool(b))", "xx"},
    {"mean of a multiple", "average_pool(scale(a, b)) = scale(average_pool(a), b)", "xs"},
    {"mean of a batch", "average_pool(concat0(a, b)) = concat0(average_pool(a), average_pool(b))", "xx"},
    {"mean of channels", "average_pool(concat1(a, b)) = concat1(average_pool(a), average_pool(b))", "xx"},
    {"largest of a batch", "max_pool(concat0(a, b)) = concat0(max_pool(a), max_pool(b))", "xx"},
    {"largest of channels", "max_pool(concat1(a, b)) = concat1(max_pool(a), max_pool(b))", "xx"},
    {"largest of relus", "max_pool(relu(a)) = relu(max_pool(a))", "x"},
};

// What is true of constants by what they are. Some are weights or matrices that look like data.
constexpr AxiomText kConstants[] = {
    {"relu of ones", "relu(ones) = ones", "", "", Legal::left},
    {"largest of ones", "max_pool(ones) = ones", "", "", Legal::left},
    {"relu of pool weights", "relu(pool_weights) = pool_weights", "", "", Legal::left},
    {"relu of the identity of conv", "relu(conv_identity!) = conv_identity!", "", "", Legal::left},
    {"relu of the identity of matmul", "relu(product_identity) = product_identity", "", "", Legal::left},
    {"identity of conv by itself", "mul(conv_identity!, conv_identity!) = conv_identity!", "", "", Legal::left},
    {"identity of matmul by itself", "mul(product_identity, product_identity) = product_identity", "", "", Legal::left},
    {"enlarged identity of 1x1", "enlarge(conv_identity11) = conv_identity33", "", "", Legal::left},
    {"enlarged identity of 1x3", "enlarge(conv_identity13) = conv_identity33", "", "", Legal::left},
    {"enlarged identity of 3x1", "enlarge(conv_identity31) = conv_identity33", "", "", Legal::left},
    {"diagonal of what is transposed", "mul(product_identity, transpose(a)) = mul(product_identity, a)", "i", "", Legal::left},
    {"product of diagonals", "matmul(mul(product_identity, a), mul(product_identity, b)) = mul(product_identity, mul(a, b))", "ii"},
    {"identity as data, twice", "conv(conv_identity!, conv(conv_identity!, a)) = a", "f!", "L0=a0 L1=a1 L2=a2 L3=a3", Legal::left},
    {"identity as data, of relus", "conv(conv_identity!, relu(a)) = relu(conv(conv_identity!, a))", "v"},
    {"identity as data, of products", "conv(conv_identity!, mul(a, b)) = mul(conv(conv_identity!, a), conv(conv_identity!, b))", "vv", "a1=b1 a2=b2 a3=b3"},
    {"identity as data, of its multiples", "conv(conv_identity!, mul(conv_identity!, a)) = mul(conv_identity!, a)", "f!", "", Legal::left},
    {"identity as data, by itself", "mul(conv(conv_identity!, a), conv_identity!) = mul(conv_identity!, a)", "f!", "L1=a1 L2=a2 L3=a3", Legal::left},
};

std::string_view shapeText(char kind) {
    switch (kind) {
    case 'm': return "2x2";
    case 'w': return "2x2x3x3";
    case 'k': return "2x2x1x3";
    case 'p': return "2x2x1x1";
    case 'v': return "4x4x3x3";
    case 's': return "1";
    case 'i': return "4x4";
    case '4': return "2x4x5x5";
    case 'o': return "2x4x5x5";
    case 'c': return "(1+1)x(1+1)x(1+1)x(1+1)";
    default: return "2x2x2x2";
    }
}

std::string replaced(std::string text, char what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
        text.replace(at, 1, by);
    return text;
}

// Terms by the letters of conditions.
TermId nodeOf(const Rule& rule, char letter) {
    if (letter == 'L')
        return rule.left[0];
    const auto number = static_cast<TermId>(letter - 'a');
    const auto at = std::ranges::find_if(rule.nodes, [&](const Term& term) { return term.op == TermOp::input && term.inputs[0] == number; });
    assert(at != rule.nodes.end());
    return static_cast<TermId>(at - rule.nodes.begin());
}

std::vector<AxiomExtent> product(const Rule& rule, std::string_view text) {
    std::vector<AxiomExtent> extents;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        extents.push_back({nodeOf(rule, text[i]), static_cast<std::uint8_t>(text[i + 1] - '0')});
    return extents;
}

AxiomCondition conditionOf(const Rule& rule, std::string_view text) {
    const std::size_t middle = text.find('=');
    return {product(rule, text.substr(0, middle)), product(rule, text.substr(middle + 1))};
}

std::vector<TermId> legalOf(const Rule& rule, Legal legal) {
    switch (legal) {
    case Legal::left: return {rule.left[0]};
    case Legal::parts: return {rule.nodes[rule.left[0]].inputs[0], rule.nodes[rule.left[0]].inputs[1]};
    default: return {rule.left[0], rule.right[0]};
    }
}

Axiom axiomOf(const AxiomText& text, const std::string& equation, std::string_view conditions, const std::string& suffix, const std::string& kernel = "") {
    std::string line = equation;
    for (std::size_t i = 0; text.shapes[i] && text.shapes[i] != '!'; ++i)
        line += std::string(i == 0 ? " where " : ", ") + static_cast<char>('a' + i)  + ": " +
                (text.shapes[i] == 'f' ? "4x4x" + kernel : std::string(shapeText(text.shapes[i])));
    Axiom axiom;
    axiom.name = text.name + suffix;
    auto rule = parseRule(line);
    assert(rule.ok() && "an axiom is a rule");
    axiom.rule = std::move(rule).value();
    while (!conditions.empty()) {
        const std::size_t end = std::min(conditions.find(' '), conditions.size());
        axiom.conditions.push_back(conditionOf(axiom.rule, conditions.substr(0, end)));
        conditions.remove_prefix(std::min(end + 1, conditions.size()));
    }
    axiom.legal = legalOf(axiom.rule, text.legal);
    axiom.piecewise = std::ranges::any_of(axiom.rule.nodes, [](const Term& term) {
        return term.op == TermOp::relu || term.op == TermOp::convRelu || term.op == TermOp::maxPool;
    });
    return axiom;
}

void addForAxes(std::vector<Axiom>& all, const AxiomText& text) {
    const std::string equation = text.equation, conditions = text.conditions;
    const int first = equation.find('#') == std::string::npos ? 1 : 4, second = equation.find('@') == std::string::npos ? 0 : 3;
    if (const bool kernels = equation.find('!') != std::string::npos; kernels) {
        for (const char* kernel : {"11", "13", "31", "33"}) {
            const std::string shape{kernel[0], 'x', kernel[1]};
            all.push_back(axiomOf(text, replaced(equation, '!', kernel), conditions, ", kernel " + shape, shape));
        }
        return;
    }
    for (int i = 0; i < first; ++i)
        for (int j = second ? i + 1 : 0; j <= second; ++j) {
            const std::string a = std::to_string(i), b = std::to_string(j);
            const std::string suffix = second ? " " + a + " and " + b : first > 1 ? ", axis " + a : "";
            all.push_back(axiomOf(text, replaced(replaced(equation, '#', a), '@', b), replaced(replaced(conditions, '#', a), '@', b), suffix));
        }
}

} // namespace

const std::vector<Axiom>& axioms() {
    static const std::vector<Axiom> all = [] {
        std::vector<Axiom> made;
        for (const AxiomText& text : kElementwise)
            addForAxes(made, text);
        for (const AxiomText& text : kMatrices)
            addForAxes(made, text);
        for (const AxiomText& text : kConcats)
            addForAxes(made, text);
        for (const AxiomText& text : kImages)
            addForAxes(made, text);
        for (const AxiomText& text : kConstants)
            addForAxes(made, text);
        return made;
    }();
    return all;
}

} // namespace tunesmith::substitution
