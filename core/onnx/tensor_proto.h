// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/onnx/external_data.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
} // namespace onnx

namespace tunesmith {

// ONNX's TensorProto to Tensor. Sizes are checked against the shape before memory is taken. `what` names the
// tensor in errors ("initializer 'conv1.weight'"). Large data is moved out of the message, not copied.
class TensorReader {
public:
    explicit TensorReader(std::filesystem::path folder) : files_(std::move(folder)) {}

    Result<Tensor> read(onnx::TensorProto& proto, const std::string& what);
    Result<Tensor> readSparse(onnx::SparseTensorProto& proto, const std::string& what); // as a dense tensor

private:
    Result<Tensor> readExternal(const onnx::TensorProto& proto, DType type, Shape shape);
    ExternalFiles files_;
    std::uint64_t dense_ = 0; // bytes of the sparse tensors so far, as dense ones
};

// Tensor to TensorProto. With an ExternalSink, large tensors go to a data file: the message gets the place,
// the sink remembers the tensor until the file is written.
class ExternalSink {
public:
    ExternalSink(std::string location, std::size_t threshold)
        : location_(std::move(location)), threshold_(threshold) {}

    bool wants(const Tensor& tensor) const {
        return tensor.type() != DType::string && tensor.byteCount() >= threshold_;
    }
    std::uint64_t add(const Tensor& tensor); // its offset in the file; tensors that share their bytes share the place
    const std::string& location() const { return location_; }
    struct Entry {
        std::uint64_t offset;
        Tensor tensor;
    };
    const std::vector<Entry>& entries() const { return entries_; }

private:
    std::string location_;
    std::size_t threshold_;
    std::uint64_t end_ = 0;
    std::vector<Entry> entries_;
    std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> offsets_; // of entries_, which keep the bytes
};

void writeTensorProto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto,
                      ExternalSink* sink = nullptr);

} // namespace tunesmith
