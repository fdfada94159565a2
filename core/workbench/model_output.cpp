// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/model_output.h"

namespace tunesmith {

Status checkModelOutput(const std::filesystem::path& file, const std::string& model) {
    if (file.empty())
        return {};
    std::error_code none;
    if (std::filesystem::equivalent(file, model, none))
        return inputError("output " + file.string() + " is the model itself; name another file");
    if (std::filesystem::is_directory(file, none))
        return inputError("output " + file.string() + " is a folder; name a file");
    if (std::filesystem::is_regular_file(file, none) && file.extension() != ".onnx")
        return inputError("output " + file.string() + " is there already and its name is none of a model; name a file that ends in .onnx, or a new one");
    const std::filesystem::path folder = std::filesystem::absolute(file, none).parent_path();
    if (!std::filesystem::is_directory(folder, none))
        return inputError("output " + file.string() + " cannot be written: there is no folder " + folder.string());
    return {};
}

} // namespace tunesmith
