// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/export.h"

#include <limits>
#include <new>
#include <optional>

#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "core/base/atomic_file.h"
#include "core/base/mapped_ranges.h"
#include "core/base/memory_budget.h"
#include "core/base/unfinished.h"
#include "core/onnx/data_places.h"
#include "core/onnx/graph_writer.h"
#include "core/onnx/proto.h"
#include "core/onnx/second_reader.h"

namespace tunesmith {
namespace {

constexpr std::uint64_t kLargestMessage = std::numeric_limits<int>::max();

// The oldest IR version that knows the opset: older runtimes can then load the model.
std::int64_t irVersionFor(std::int64_t opset) {
    static constexpr std::int64_t kFirstOpset[][2] = {{14, 28}, {13, 25}, {12, 24}, {11, 23},
                                                      {10, 21}, {9, 19},  {8, 15}};
    for (const auto& [ir, first] : kFirstOpset)
        if (opset >= first)
            return ir;
    return 7;
}

// Adds the first version of every domain that nodes are of: some models leave imports out, and most readers want them.
void importDomains(const Graph& graph, std::map<std::string, std::int64_t>& opsets) {
    for (const auto& node : graph.nodes()) {
        if (!node->domain.empty())
            opsets.emplace(node->domain, 1);
        for (const auto& [key, attribute] : node->attributes)
            if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
                importDomains(**body, opsets);
    }
}

Status writeModel(const Graph& graph, onnx::ModelProto& model, ExternalSink* sink) {
    model.set_ir_version(irVersionFor(graph.opset()));
    model.set_producer_name("tunesmith");
    std::map<std::string, std::int64_t> opsets = graph.opsets();
    importDomains(graph, opsets);
    for (const auto& [domain, version] : opsets) {
        auto* import = model.add_opset_import();
        import->set_domain(domain);
        import->set_version(version);
    }
    for (const auto& [key, value] : graph.metadata()) {
        auto* entry = model.add_metadata_props();
        entry->set_key(key);
        entry->set_value(value);
    }
    return writeGraph(graph, *model.mutable_graph(), sink);
}

Status checkSize(std::size_t size) {
    if (size <= kLargestMessage)
        return {};
    return unsupportedError("the model takes " + std::to_string(size) +
                            " bytes, more than the 2 GB that one ONNX file can hold");
}

Result<std::vector<std::byte>> serialize(const onnx::ModelProto& model) {
    const std::size_t size = model.ByteSizeLong();
    TS_TRY(checkSize(size));
    std::vector<std::byte> bytes(size);
    model.SerializeWithCachedSizesToArray(reinterpret_cast<google::protobuf::uint8*>(bytes.data()));
    return bytes;
}

// Straight to the file: the message is in memory once more than the weights, not twice.
Status writeTo(AtomicFile& file, const onnx::ModelProto& model) {
    TS_TRY(checkSize(model.ByteSizeLong()));
    google::protobuf::io::FileOutputStream stream(file.descriptor());
    const bool written = model.SerializeToZeroCopyStream(&stream) && stream.Flush();
    return written ? Status() : file.failure(stream.GetErrno());
}

Status writeExternal(AtomicFile& file, const ExternalSink& sink) {
    static constexpr std::byte kPadding[64] = {};
    std::uint64_t position = 0;
    for (const auto& entry : sink.entries()) {
        TS_TRY(file.write(std::span(kPadding).first(entry.offset - position)));
        TS_TRY(file.write(entry.tensor.bytes()));
        dropMappedPages(entry.tensor.bytes());
        position = entry.offset + entry.tensor.byteCount();
    }
    return {};
}

// Data that the model maps from a file with holes takes less there than here.
Status checkSpace(const ExternalSink& sink, const std::filesystem::path& file) {
    if (sink.entries().empty())
        return {};
    std::error_code unknown;
    const std::filesystem::space_info space = std::filesystem::space(std::filesystem::absolute(file, unknown).parent_path(), unknown);
    const std::uint64_t bytes = sink.entries().back().offset + sink.entries().back().tensor.byteCount();
    if (unknown || space.capacity == 0 || bytes <= space.available)
        return {};
    const auto text = [](std::uint64_t count) { return memoryText(static_cast<std::int64_t>(count)); };
    return ioError("cannot write '" + file.string() + "': the model's weights take " + text(bytes) + ", and " + text(space.available) + " are free there");
}

// A kill between any two steps leaves the old model with its data or the new one with its own.
Status commitBoth(AtomicFile& model, const ExternalSink& sink, const DataPlaces& places) {
    TS_TRY(checkSpace(sink, places.free));
    TS_ASSIGN(AtomicFile data, AtomicFile::create(places.free));
    TS_TRY(writeExternal(data, sink));
    const Status whole = doWhole([&]() -> Status {
        TS_TRY(data.commit());
        const Status committed = model.commit();
        std::error_code ignored;
        if (!committed.ok())
            std::filesystem::remove(places.free, ignored);
        return committed;
    });
    if (whole.ok())
        removeReplacedData(places);
    return whole;
}

// Gives what the second reader, if there is one, says.
using Reader = Result<std::string> (*)(onnx::ModelProto&);
Result<std::string> writeFiles(const Graph& graph, const std::filesystem::path& target, const ExportOptions& options, Reader reader) {
    std::error_code notThereYet;
    const auto resolved = std::filesystem::canonical(target, notThereYet); // the data lies beside the file, not the link
    const std::filesystem::path& path = notThereYet ? target : resolved;
    std::optional<ExternalSink> sink;
    DataPlaces places;
    std::optional<ExportTurn> turn;
    if (weightBytes(graph) > options.inlineLimit || repeatedBytes(graph) > options.repeatLimit) {
        TS_ASSIGN(ExportTurn own, ExportTurn::take(path));
        turn.emplace(std::move(own));
        TS_ASSIGN(places, placesOfData(path));
        sink.emplace(places.free.filename().string(), options.externalThreshold);
    }
    onnx::ModelProto model;
    TS_TRY(writeModel(graph, model, sink ? &*sink : nullptr));
    TS_ASSIGN(AtomicFile file, AtomicFile::create(path));
    TS_TRY(writeTo(file, model));
    std::string said;
    if (reader) {
        TS_ASSIGN(said, reader(model));
    }
    TS_TRY(sink ? commitBoth(file, *sink, places) : file.commit());
    return said;
}

Result<std::string> exportWith(Reader reader, const Graph& graph, const std::filesystem::path& path, const ExportOptions& options) {
    try {
        auto written = writeFiles(graph, path, options, reader);
        if (written.ok() || written.error().kind == ErrorKind::io)
            return written;
        return written.error().within("cannot write '" + path.string() + "'");
    } catch (const std::bad_alloc&) {
        return ioError("cannot write '" + path.string() + "': there is not enough memory");
    }
}

} // namespace

Result<std::vector<std::byte>> exportOnnxBytes(const Graph& graph) {
    try {
        TS_TRY(checkSize(weightBytes(graph))); // before the message is made
        onnx::ModelProto model;
        TS_TRY(writeModel(graph, model, nullptr));
        return serialize(model);
    } catch (const std::bad_alloc&) {
        return ioError("there is not enough memory to write the model");
    }
}

Status exportOnnx(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options) {
    TS_TRY(exportWith(nullptr, graph, path, options));
    return {};
}

Result<std::string> exportCheckedOnnx(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options) {
    return exportWith(readAgain, graph, path, options);
}

} // namespace tunesmith
