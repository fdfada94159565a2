// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/result.h"
#include "core/graph/tensor.h"

namespace tunesmith {

// NumPy's .npy files (numpy.lib.format, versions 1 to 3): how tensors come in from and go out to everyone
// else. Reads bool, int, uint and float of 8 to 64 bits, either byte order, C and Fortran order. The header
// is checked against the size of the file before anything is allocated. Errors name the file.
Result<Tensor> readNpy(const std::filesystem::path& path);

// Little endian, C order, version 1. The file appears whole or not at all. bfloat16, which NumPy does not
// know, is written as float32 (exactly); tensors of strings are refused. A link of that name is replaced, not followed: names in a folder
// of results are the program's choice.
Status writeNpy(const std::filesystem::path& path, const Tensor& tensor);
Result<AtomicFile> stagedNpy(const std::filesystem::path& path, const Tensor& tensor); // the same but for its commit(); it is closed

// The name of a tensor as a file name: characters outside A-Za-z0-9_.- become '_'. Never empty, "." or "..".
std::string safeFileName(std::string_view name);

// The same for several that lie in one folder: no two are equal. Names that need no change keep theirs.
std::vector<std::string> distinctFileNames(const std::vector<std::string>& names);

} // namespace tunesmith
