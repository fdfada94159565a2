// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/tensor_codec.h"

#include <cstring>
#include <set>

#include "core/process/json_number.h"

namespace tunesmith {

using nlohmann::json;

Result<json> putTensor(Message& message, const Tensor& tensor) {
    if (tensor.absent() || tensor.type() == DType::string)
        return unsupportedError("a tensor of type " + std::string(dtypeName(tensor.type())) +
                                " cannot be sent to a worker");
    const auto bytes = tensor.bytes();
    message.blobs.emplace_back(bytes.begin(), bytes.end());
    return json{
        {"type", dtypeName(tensor.type())}, {"shape", tensor.shape()}, {"blob", message.blobs.size() - 1}};
}

Result<json> putTensors(Message& message, const std::vector<Tensor>& tensors) {
    json list = json::array();
    for (const Tensor& tensor : tensors) {
        TS_ASSIGN(json entry, putTensor(message, tensor));
        list.push_back(std::move(entry));
    }
    return list;
}

Result<Tensor> takeTensor(const Message& message, const json& entry) {
    static const char* const kBroken = "a tensor arrived damaged from the other process";
    try {
        const DType type = dtypeFromName(entry.at("type").get<std::string>());
        const auto shape = wholeNumbers<std::int64_t>(entry.at("shape"));
        const auto& blob = message.blobs.at(wholeNumber<std::size_t>(entry.at("blob")));
        const auto count = checkedElementCount(shape);
        if (bitSize(type) == 0 || !count || *count > static_cast<std::int64_t>(blob.size()) * 8 || blob.size() != storedBytes(type, *count))
            return internalError(kBroken);
        Tensor tensor = Tensor::zeros(type, shape);
        if (!blob.empty())
            std::memcpy(tensor.mutableBytes().data(), blob.data(), blob.size());
        return tensor;
    } catch (const std::bad_alloc& full) {
        return inputError(std::string("what the other process sent: ") + full.what());
    } catch (const std::exception&) { // of nlohmann::json and vector::at
        return internalError(kBroken);
    }
}

Result<std::vector<Tensor>> takeTensors(const Message& message, const json& list) {
    std::vector<Tensor> tensors;
    std::set<json> blobs;
    if (!list.is_array())
        return internalError("a list of tensors arrived damaged from the other process");
    for (const json& entry : list) {
        if (!entry.is_object() || !blobs.insert(entry.value("blob", json())).second)
            return internalError("two tensors arrived with one blob from the other process");
        TS_ASSIGN(Tensor tensor, takeTensor(message, entry));
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

} // namespace tunesmith
