// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/import.h"

#include <algorithm>
#include <limits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "core/base/atomic_file.h"
#include "core/onnx/functions.h"
#include "core/onnx/graph_reader.h"
#include "core/onnx/proto.h"
#include "core/onnx/tensor_proto.h"
#include "core/onnx/upgrade.h"
#include "core/onnx/utf8.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kOldestIr = 3, kNewestIr = 14; // later ones may change what the fields mean
constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 28;
constexpr std::size_t kLargestMessage = std::numeric_limits<int>::max(); // of protobuf
constexpr int kBlock = 1 << 20;

// protobuf writes its complaints to stderr unless told otherwise; ours are results.
void silenceProtobuf() {
    [[maybe_unused]] static const bool once = [] {
        google::protobuf::SetLogHandler(nullptr);
        return true;
    }();
}

Error notA(const char* kind) {
    return inputError(std::string("this is not ") + kind + ", or it is damaged or truncated");
}

Status checkSize(std::size_t size) {
    if (size == 0)
        return inputError("the file is empty");
    if (size > kLargestMessage)
        return unsupportedError(
            "it is larger than 2 GB, the limit of the format: save the weights as external data");
    return {};
}

template <class Message> Status parse(Message& message, std::span<const std::byte> bytes, const char* kind) {
    silenceProtobuf();
    TS_TRY(checkSize(bytes.size()));
    return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ? Status() : notA(kind);
}

// In blocks, so that the file is in memory once and not twice.
template <class Message>
Status parse(Message& message, const InputFile& file, const std::filesystem::path& path, const char* kind) {
    silenceProtobuf();
    TS_TRY(checkSize(file.size()));
    google::protobuf::io::FileInputStream stream(file.descriptor(), kBlock);
    const bool parsed = message.ParseFromZeroCopyStream(&stream);
    if (stream.GetErrno() != 0)
        return readFailure(path, stream.GetErrno());
    return parsed ? Status() : notA(kind);
}

Status checkVersions(const onnx::ModelProto& model) {
    const std::int64_t ir = model.ir_version();
    if (!model.has_ir_version() || !model.has_graph())
        return inputError("this is not an ONNX model: it has no version or no graph");
    if (ir < kOldestIr || ir > kNewestIr)
        return unsupportedError("it has IR version " + std::to_string(ir) + ", but versions " +
                                std::to_string(kOldestIr) + " to " + std::to_string(kNewestIr) +
                                " can be read: convert it with onnx.version_converter");
    return {};
}

Result<std::map<std::string, std::int64_t>> readOpsets(const onnx::ModelProto& model) {
    std::map<std::string, std::int64_t> opsets;
    for (const auto& import : model.opset_import())
        opsets[import.domain() == "ai.onnx" ? std::string() : import.domain()] = import.version();
    const auto standard = opsets.find("");
    if (standard != opsets.end() && (standard->second < kOldestOpset || standard->second > kNewestOpset))
        return unsupportedError("it uses opset " + std::to_string(standard->second) +
                                " of ONNX, but opsets " + std::to_string(kOldestOpset) + " to " +
                                std::to_string(kNewestOpset) +
                                " are supported: convert it with onnx.version_converter or export it again");
    return opsets;
}

Result<Graph> readModel(onnx::ModelProto& model, const std::filesystem::path& folder,
                        const ImportOptions& options) {
    TS_TRY(checkVersions(model));
    TS_TRY(inlineFunctions(model));
    TS_ASSIGN(const auto opsets, readOpsets(model));
    std::map<std::string, std::string> metadata;
    for (const auto& entry : model.metadata_props())
        if (isUtf8(entry.key()) && isUtf8(entry.value()))
            metadata[entry.key()] = entry.value();
    TensorReader tensors(folder);
    TS_ASSIGN(const Graph graph,
              readGraph(*model.mutable_graph(), {tensors, opsets, metadata, options.stop}));
    return upgradeOpset(graph);
}

// Names the file in errors that do not do so by themselves, and turns what libraries throw into one.
template <class Body> auto guarded(const std::string& name, Body body) -> decltype(body()) {
    try {
        auto result = body();
        if (result.ok() || result.error().isCancelled())
            return result;
        if (result.error().message.find("'" + name + "'") != std::string::npos)
            return result.error();
        return result.error().within("'" + name + "'");
    } catch (const std::bad_alloc&) {
        return ioError("'" + name + "': there is not enough memory to load it");
    } catch (const std::exception& exception) {
        return inputError("'" + name + "' cannot be read: " + exception.what());
    }
}

// Whether a file is a SequenceProto or an OptionalProto and nothing more. Read as a TensorProto its name
// would be the dimensions of a tensor.
template <class Container> bool isWholly(const std::filesystem::path& path) {
    const auto file = InputFile::open(path);
    Container proto;
    return file.ok() && parse(proto, *file, path, "a container").ok() && !proto.name().empty() &&
           proto.GetReflection()->GetUnknownFields(proto).empty();
}

bool holdsContainer(const std::filesystem::path& path) {
    return isWholly<onnx::SequenceProto>(path) || isWholly<onnx::OptionalProto>(path);
}

std::filesystem::path folderOf(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

} // namespace

Result<Graph> importOnnx(const std::filesystem::path& path, const ImportOptions& options) {
    return guarded(path.string(), [&]() -> Result<Graph> {
        TS_ASSIGN(const InputFile file, InputFile::open(path));
        onnx::ModelProto model;
        TS_TRY(parse(model, file, path, "an ONNX model"));
        return readModel(model, folderOf(path), options);
    });
}

Result<Graph> importOnnxBytes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                              const ImportOptions& options) {
    return guarded("model", [&]() -> Result<Graph> {
        onnx::ModelProto model;
        TS_TRY(parse(model, bytes, "an ONNX model"));
        return readModel(model, folder, options);
    });
}

Result<Tensor> readTensorProto(const std::filesystem::path& path) {
    return guarded(path.string(), [&]() -> Result<Tensor> {
        TS_ASSIGN(const InputFile file, InputFile::open(path));
        onnx::TensorProto proto;
        const Status parsed = parse(proto, file, path, "a stored tensor");
        auto tensor = parsed.ok() ? TensorReader(folderOf(path)).read(proto, "tensor") : parsed.error();
        if (!tensor.ok() && tensor.error().kind != ErrorKind::io && holdsContainer(path))
            return unsupportedError("it holds a sequence or an optional value, which is not supported");
        return tensor;
    });
}

} // namespace tunesmith
