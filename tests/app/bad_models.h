// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "tests/core/onnx/model_bytes.h"

namespace tunesmith::testing {

// What a person may meet: the command line and the window both have to say in one sentence what is wrong with these.
struct BadModel {
    const char* name;
    std::function<void(onnx::ModelProto&)> bend; // smallModel()
    const char* says;
    bool canBeLookedAt = false;
};

inline void makeExternal(onnx::ModelProto& model, const std::string& location) {
    auto& tensor = *model.mutable_graph()->mutable_initializer(0);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
}

inline const std::vector<BadModel>& badModels() {
    static const std::vector<BadModel> list{
        {"cyclic", [](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "y"); }, "cyc"},
        {"shapes that contradict",
         [](auto& m) {
             addNode(*m.mutable_graph(), "MatMul", {"x", "v"}, {"z"}, "product");
             addFloats(*m.mutable_graph(), "v", {3, 2}, {1, 2, 3, 4, 5, 6});
             tensorType(*m.mutable_graph()->add_output(), "z", {2, 2});
         },
         "product"},
        {"unknown operator", [](auto& m) { m.mutable_graph()->mutable_node(0)->set_op_type("Frobnicate"); },
         "Frobnicate", true},
        {"external file that is missing", [](auto& m) { makeExternal(m, "weights.bin"); }, "weights.bin"},
        {"path that leaves the folder", [](auto& m) { makeExternal(m, "../../etc/passwd"); }, "folder"},
        {"absolute path", [](auto& m) { makeExternal(m, "/etc/passwd"); }, "/etc/passwd"},
    };
    return list;
}

struct BadBytes {
    const char* name;
    std::string bytes;
};

inline const std::vector<BadBytes>& badFiles() {
    static const std::vector<BadBytes> list = [] {
        const std::string whole = smallModel().SerializeAsString();
        std::string noise(5000, '\0');
        for (std::size_t i = 0; i < noise.size(); ++i)
            noise[i] = static_cast<char>((i * 7919 + i / 3) & 0xFF);
        return std::vector<BadBytes>{{"0 bytes", {}},
                                     {"truncated", whole.substr(0, whole.size() / 2)},
                                     {"random", noise},
                                     {"text", "this is not a model\n"},
                                     {"claims 3 GB", std::string("\x08\x08\x3a\x80\x80\x80\x80\x0c", 8)}};
    }();
    return list;
}

// Writes a version that no program knows yet into an SQLite file: user_version, big endian.
inline void makeNewer(const std::filesystem::path& store) {
    std::fstream file(store, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(60);
    file.write("\x00\x00\x27\x0f", 4);
}

} // namespace tunesmith::testing
