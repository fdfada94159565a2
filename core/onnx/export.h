// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// Writes a graph as an ONNX model that any runtime loads. Importing it again gives a graph of the same hash;
// the same graph always gives the same bytes. Cheap enough for single kernels that travel between processes.
// An error when the model would be over protobuf's limit of 2 GB.
Result<std::vector<std::byte>> exportOnnxBytes(const Graph& graph);

struct ExportOptions {
    std::uint64_t inlineLimit = 1'900'000'000; // weights of more bytes go to the external data file NAME.data (or NAME.data-2 and so on: the first free name)
    std::uint64_t repeatLimit = 64'000'000;    // and so do weights that share more bytes than that, which the file has once
    std::size_t externalThreshold = 1024;      // tensors of fewer bytes stay in the model all the same
};

// The same, and a second reader (second_reader.h) looks at the model before it takes its place; a file that it refuses is
// not left behind. Gives a sentence about what was checked.
Result<std::string> exportCheckedOnnx(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options = {});

// The file appears whole or not at all; an external data file beside it is put in place first, under a name
// that is free. The data of the model that was there goes last, so that a kill leaves one of both models with its own data; it
// stays where others may read it (data_places.h).
Status exportOnnx(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options = {});

} // namespace tunesmith
