// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/import.h"

#include <algorithm>
#include <limits>
#include <set>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "core/base/atomic_file.h"
#include "core/onnx/external_data.h"
#include "core/onnx/file_kind.h"
#include "core/onnx/functions.h"
#include "core/onnx/graph_reader.h"
#include "core/onnx/proto.h"
#include "core/onnx/tensor_proto.h"
#include "core/onnx/upgrade.h"
#include "core/onnx/utf8.h"
#include "core/ops/operator.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kOldestIr = 3, kNewestIr = 14; // later ones may change what the fields mean
constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 28;
constexpr std::int64_t kFirstIrOfDefaults = 4; // before, every initializer had to be listed as an input
constexpr std::size_t kLargestMessage = std::numeric_limits<int>::max(); // of protobuf
constexpr int kBlock = 1 << 20;
constexpr std::size_t kBeginning = 512; // bytes that tell what a file is

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

Error notAModel(std::span<const std::byte> bytes) {
    return nestsTooDeep(bytes) ? unsupportedError("its bodies lie more than 32 deep within each other, as deep as the format can be read")
                               : notA("an ONNX model");
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

// Names other kinds of files, so that they are told apart from damage.
Status checkKind(const InputFile& file, const std::filesystem::path& path) {
    TS_ASSIGN(const MappedBytes mapped, mapFile(file, path));
    for (const std::string& sentence : {foreignKind(mapped.bytes.first(std::min(mapped.bytes.size(), kBeginning))),
                                        damageOf(mapped.bytes, mapped.bytes.size())})
        if (!sentence.empty())
            return inputError(sentence);
    return {};
}

void collectUnknown(const onnx::GraphProto& graph, std::set<std::string>& names) {
    for (const auto& node : graph.node()) {
        const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
        if (standard && isUtf8(node.op_type()) && !findOperator(node.op_type()))
            names.insert(node.op_type());
        for (const auto& attribute : node.attribute())
            if (isBody(attribute))
                collectUnknown(attribute.g(), names);
    }
}

// Lists operators that are not known here: they may be the reason for a version.
std::string newOperators(const onnx::ModelProto& model) {
    std::set<std::string> names;
    collectUnknown(model.graph(), names);
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "all its operators are known, if in older versions" : "its operators " + text + " are not known";
}

Status checkVersions(const onnx::ModelProto& model) {
    const std::int64_t ir = model.ir_version();
    if (!model.has_ir_version() || !model.has_graph())
        return inputError("this is not an ONNX model: it has no version or no graph");
    if (ir < kOldestIr || ir > kNewestIr)
        return unsupportedError("it has IR version " + std::to_string(ir) + ", but versions " +
                                std::to_string(kOldestIr) + " to " + std::to_string(kNewestIr) +
                                " can be read: export it again for opset " + std::to_string(kNewestOpset) + " or lower (" + newOperators(model) +
                                ")");
    return {};
}

// Some files leave domains out that their nodes are of: they have the first version, as in what is exported.
void addDomains(const onnx::GraphProto& graph, std::map<std::string, std::int64_t>& opsets) {
    for (const auto& node : graph.node()) {
        if (!node.domain().empty() && node.domain() != "ai.onnx")
            opsets.emplace(node.domain(), 1);
        for (const auto& attribute : node.attribute())
            if (isBody(attribute))
                addDomains(attribute.g(), opsets);
    }
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
                                " are supported: convert it with onnx.version_converter or export it again (" + newOperators(model) + ")");
    addDomains(model.graph(), opsets);
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
    TS_ASSIGN(const Graph graph, // which takes the message apart
              readGraph(*model.mutable_graph(), {tensors, opsets, metadata, options.stop, model.ir_version() >= kFirstIrOfDefaults}));
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

Result<Tensor> readSequence(onnx::SequenceProto& proto, TensorReader& tensors) {
    std::vector<Tensor> elements;
    for (auto& element : *proto.mutable_tensor_values()) {
        TS_ASSIGN(Tensor tensor, tensors.read(element, "element " + std::to_string(elements.size())));
        elements.push_back(std::move(tensor));
    }
    for (auto& element : *proto.mutable_sequence_values()) {
        TS_ASSIGN(Tensor sequence, readSequence(element, tensors));
        elements.push_back(std::move(sequence));
    }
    return Tensor::sequence(std::move(elements));
}

Result<Tensor> readOptional(onnx::OptionalProto& proto, TensorReader& tensors) {
    if (proto.has_tensor_value())
        return tensors.read(*proto.mutable_tensor_value(), "the optional value");
    if (proto.has_sequence_value())
        return readSequence(*proto.mutable_sequence_value(), tensors);
    if (proto.has_optional_value())
        return readOptional(*proto.mutable_optional_value(), tensors);
    return Tensor::nothing();
}

// A file of one message, which `read` makes a value of.
template <class Message>
Result<Tensor> readStored(const std::filesystem::path& path, Result<Tensor> (*read)(Message&, TensorReader&)) {
    return guarded(path.string(), [&]() -> Result<Tensor> {
        TS_ASSIGN(const InputFile file, InputFile::open(path));
        Message proto;
        if (file.size() > 0) // an optional value that holds nothing
            TS_TRY(parse(proto, file, path, "a stored value"));
        TensorReader tensors(path.has_parent_path() ? path.parent_path() : std::filesystem::path("."));
        return read(proto, tensors);
    });
}

std::filesystem::path folderOf(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

} // namespace

Result<Graph> importOnnx(const std::filesystem::path& path, const ImportOptions& options) {
    return guarded(path.string(), [&]() -> Result<Graph> {
        TS_ASSIGN(const InputFile file, InputFile::open(path));
        TS_TRY(checkKind(file, path));
        onnx::ModelProto model;
        if (const Status parsed = parse(model, file, path, "an ONNX model"); !parsed.ok()) {
            TS_ASSIGN(const MappedBytes mapped, mapFile(file, path));
            return parsed.error().kind == ErrorKind::input && file.size() > 0 ? notAModel(mapped.bytes) : parsed.error();
        }
        return readModel(model, folderOf(path), options);
    });
}

Result<Graph> importOnnxBytes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                              const ImportOptions& options) {
    return guarded("model", [&]() -> Result<Graph> {
        onnx::ModelProto model;
        if (const Status parsed = parse(model, bytes, "an ONNX model"); !parsed.ok())
            return parsed.error().kind == ErrorKind::input && !bytes.empty() ? notAModel(bytes) : parsed.error();
        return readModel(model, folder, options);
    });
}

Result<Tensor> readTensorProto(const std::filesystem::path& path, const TensorType& type) {
    if (type.is(OpaqueType::Kind::sequence))
        return readStored<onnx::SequenceProto>(path, readSequence);
    if (type.is(OpaqueType::Kind::optional))
        return readStored<onnx::OptionalProto>(path, readOptional);
    return guarded(path.string(), [&]() -> Result<Tensor> {
        TS_ASSIGN(const InputFile file, InputFile::open(path));
        onnx::TensorProto proto;
        const Status parsed = parse(proto, file, path, "a stored tensor");
        auto tensor = parsed.ok() ? TensorReader(folderOf(path)).read(proto, "tensor") : parsed.error();
        if (!tensor.ok() && tensor.error().kind != ErrorKind::io && holdsContainer(path))
            return unsupportedError("it holds a sequence or an optional value, and a tensor is wanted");
        return tensor;
    });
}

} // namespace tunesmith
