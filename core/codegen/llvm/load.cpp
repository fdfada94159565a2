// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/kernel.h"
#include "core/codegen/llvm/llvm_headers.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

namespace tunesmith {
namespace {

Error orcError(llvm::Error error) { return internalError("linking a kernel: " + llvm::toString(std::move(error))); }

class OrcKernel final : public LoadedKernel {
public:
    OrcKernel(std::unique_ptr<llvm::orc::LLJIT> jit, std::vector<PhaseFunction> phases, std::vector<std::int64_t> extents)
        : jit_(std::move(jit)), phases_(std::move(phases)), extents_(std::move(extents)) {}

    PhaseFunction phase(std::size_t index) const override { return phases_[index]; }
    std::size_t phaseCount() const override { return phases_.size(); }
    std::int64_t extent(std::size_t index) const override { return extents_[index]; }

private:
    std::unique_ptr<llvm::orc::LLJIT> jit_;
    std::vector<PhaseFunction> phases_;
    std::vector<std::int64_t> extents_;
};

} // namespace

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::load(const KernelObject& kernel) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit)
        return orcError(jit.takeError());
    auto& library = (*jit)->getMainJITDylib();
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
    if (!process)
        return orcError(process.takeError());
    library.addGenerator(std::move(*process));
    const llvm::StringRef bytes(reinterpret_cast<const char*>(kernel.object.data()), kernel.object.size());
    if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, kernel.name)))
        return orcError(std::move(error));
    std::vector<PhaseFunction> phases;
    for (std::size_t i = 0; i < kernel.phaseExtents.size(); ++i) {
        auto symbol = (*jit)->lookup(kernel.name + "_" + std::to_string(i));
        if (!symbol)
            return orcError(symbol.takeError());
        phases.push_back(symbol->toPtr<PhaseFunction>());
    }
    return std::unique_ptr<LoadedKernel>(new OrcKernel(std::move(*jit), std::move(phases), kernel.phaseExtents));
}

} // namespace tunesmith
