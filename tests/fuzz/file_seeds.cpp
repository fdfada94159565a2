// SPDX-License-Identifier: GPL-3.0-or-later
#include <nlohmann/json.hpp>

#include "tests/fuzz/seeds.h"

namespace tunesmith::fuzz {
namespace {

std::string npyFile(int version, const std::string& header, std::size_t bytes) {
    std::string file("\x93NUMPY", 6);
    file += {static_cast<char>(version), '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    if (version > 1)
        file += std::string(2, '\0');
    return file + header + std::string(bytes, '\x01');
}

// A field of protobuf's wire format that holds bytes.
std::string field(int number, const std::string& bytes) { return {std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes}; }
std::string field(int number, char value) { return {static_cast<char>(number << 3), value}; }

// Of TASO's rules.proto: an operator of two inputs of the rule, which are numbered from -1 downwards.
std::string tasoOperator(char type, int left, int right) {
    const auto input = [](int id) {
        const std::string negative{static_cast<char>(128 | (-id ? 128 - id : 0)), '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\x01'};
        return field(2, std::string("\x08", 1) + negative + field(2, '\0'));
    };
    return field(1, type) + input(left) + input(right);
}

} // namespace

std::vector<std::pair<std::string, std::string>> settingsSeeds() {
    return {
        {"problem.toml", "problem = \"program\"\ncommand = ['./a.sh', \"{tile}\"]\nmeasure = 'time'\n[parameters]\ntile = [1, 2, 4]\nlevel = { from = 0, to = 3 }\n"},
        {"jobs.toml", "policy = \"fair\"\ntrials = 8\n[[job]]\nmodel = \"a.onnx\"\nname = \"one\"\npriority = 2\ndims = { batch = 1 }\n[[job]]\nkind = \"rewrite\"\nmodel = 'b.onnx'\nsearch = 'beam'\nbudget = 10\n"
                      "[[job]]\nkind = 'problem'\nfile = 'p.toml'\nseconds = 1.5\n"},
        {"sweep.toml", "name = 'widths'\nmodel = ['a.onnx', 'b.onnx']\nthreads = [1, 2]\nstrategy = [\"random\", \"genetic\"]\ntrials = 16\n"},
        {"values.toml", "a = [1, 2.5e3, true, 1979-05-27T07:32:00Z, 'x', \"\\u00e9\\n\", '''three\nlines''', 0xff, inf, nan]\n[b.c.\"d e\"]\nx = { y.z = -0 }\n[[f]]\n[f.g]\n[[f]]\n"},
    };
}

std::vector<std::pair<std::string, std::string>> npySeeds() {
    return {
        {"floats.npy", npyFile(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24)},
        {"fortran.npy", npyFile(1, "{'descr': '>i8', 'fortran_order': True, 'shape': (3, 2), }\n", 48)},
        {"scalar.npy", npyFile(2, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", 1)},
        {"empty.npy", npyFile(3, "{'descr': '<u2', 'fortran_order': False, 'shape': (0, 7), }\n", 0)},
        {"half.npy", npyFile(1, "{\"shape\": (4,), \"fortran_order\": False, \"descr\": \"<f2\"}\n", 8)},
    };
}

std::vector<std::pair<std::string, std::string>> ruleSeeds() {
    return {
        {"stored.rules", "# found\nadd(matmul(v1, v2), matmul(v3, v2)) = matmul(add(v1, v3), v2) where v1: 2x4, v2: 4x4, v3: 2x4; name: a/1; origin: generated; status: tested 1800\n"
                         "relu(concat1(v1, v2)) = concat1(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4; status: refuted; refuted by: none\n"},
        {"parts.rules", "split0a(concat0(v1, v2)) = v1 where v1: 4x4, v2: 4x4\nconv(v1, v2) = conv(v1, v2) where v1: 2x4x5x5, v2: 4x4x3x3; if: left to right: conv(v1, v2) has one group; otherwise: a\\;b\n"},
        {"taso.txt", "# substitutions\nMatMul[0]{input0(MatMul[0]{input0(x1)input1(w1)})input1(w2)}\t=>\tMatMul[0]{input0(x1)input1(MatMul[0]{input0(w1)input1(w2)})}\n"},
        {"graph_subst.pb", field(1, field(1, tasoOperator(17, -1, -2)) + field(2, tasoOperator(17, -2, -1)) + field(3, field(1, '\0') + field(2, '\0') + field(3, '\0') + field(4, '\0')))},
    };
}

std::vector<std::pair<std::string, std::string>> logSeeds() {
    const std::string config = R"("config": {"index": 249, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 3]], ["unroll_kw", "ot", false], ["order", "re", [0, 1]], ["ann", "an", ["none", "vec"]]]})";
    const std::string conv = R"(["llvm -mcpu=skylake-avx512", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"], ["TENSOR", [64, 3, 7, 7], "float32"], [2, 2], "NCHW", null], {}])";
    const auto line = [&](const std::string& input, const std::string& result) { return "{\"input\": " + input + ", " + config + ", \"result\": " + result + ", \"version\": 0.2, \"tvm_version\": \"0.8.dev0\"}\n"; };
    return {
        {"one.log", line(conv, "[[9.1e-05, 9.3e-05], 0, 1.245, 1610268027.59]")},
        {"failed.log", "# a remark\n" + line(conv, "[[Infinity], 4, 10, 1610268027]") + "\n" + line(R"(["cuda", "dense_small_batch.cuda", [], {"a": 1}])", "[[1000000000.0], 6, 1e9, 0]")},
        {"cut.log", line(conv, "[[9.1e-05], 0, 1, 2]") + "{\"input\": [\"llvm\""},
    };
}

std::vector<std::pair<std::string, std::string>> moduleSeeds() {
    using nlohmann::json;
    const json input = {{"name", "x"}, {"type", "float32"}, {"shape", {2, 3}}, {"default_at", 0}};
    const json open = {{"name", "y"}, {"type", "int64"}, {"shape", {-1}}};
    const json step = {{"name", "s"}, {"kernel", "k"}, {"workload", "w"}, {"config", "c"}, {"flops", 12}, {"expected_ms", 0.5}, {"reference", ""}};
    const json library = {{"name", "libtiny.so"}, {"bytes", 64}, {"hash", "0123456789abcdef"}}, weights = {{"name", "weights.bin"}, {"bytes", 64}, {"hash", "0123456789abcdef"}};
    const json module = {{"tunesmith_module", 2}, {"name", "tiny"}, {"prefix", "tiny"}, {"version", "1"}, {"target", {{"isa", "avx2"}, {"tune_cpu", ""}, {"threads", 1}, {"key", "k"}}},
                         {"inputs", {input}}, {"outputs", {open}}, {"steps", {step, step}}, {"files", {library, weights}}, {"graph", {{"input_bounds", {7}}}}};
    const json family = {{"tunesmith_family", 1}, {"name", "tiny"}, {"ranges", {{"batch", {1, 8}}}}, {"inputs", {{{"name", "x"}, {"type", "float32"}, {"shape", {"batch", 3}}, {"bound", 1}}}},
                         {"outputs", {"y"}}, {"modules", {{{"folder", "batch-1"}, {"extents", {{"batch", 1}}}}}}};
    json huge = module, countless = module;
    huge["inputs"][0]["shape"] = {std::int64_t(1) << 31, std::int64_t(1) << 30};
    for (json& each : countless["steps"])
        each["flops"] = std::int64_t(1) << 62;
    return {{"module.json", module.dump()}, {"family.json", family.dump(1)}, {"damaged_default", huge.dump()}, {"damaged_flops", countless.dump()}};
}

} // namespace tunesmith::fuzz
