// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <mutex>

#include "core/codegen/kernel.h"
#include "core/codegen/llvm/emitter.h"
#include "core/codegen/llvm/pointer_induction.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace tunesmith {
namespace {

void initializeLlvm() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        const char* const arguments[] = {"tunesmith", "-disable-lsr"}; // PointerInductionPass stands for it
        llvm::cl::ParseCommandLineOptions(2, arguments);
    });
}

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Target& target) {
    initializeLlvm();
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const auto* backend = llvm::TargetRegistry::lookupTarget(triple, error);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    const char* cpu = isWide(target.isa) ? "x86-64-v4" : "x86-64-v3";
    return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(triple, cpu, "", options, llvm::Reloc::PIC_,
        llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

// Our loops arrive in the shape that we want; what is left to do is registers for local buffers and common subexpressions.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::PassBuilder builder(&machine);
    llvm::LoopAnalysisManager loopAnalyses;
    llvm::FunctionAnalysisManager functionAnalyses;
    llvm::CGSCCAnalysisManager callAnalyses;
    llvm::ModuleAnalysisManager moduleAnalyses;
    builder.registerModuleAnalyses(moduleAnalyses);
    builder.registerCGSCCAnalyses(callAnalyses);
    builder.registerFunctionAnalyses(functionAnalyses);
    builder.registerLoopAnalyses(loopAnalyses);
    builder.crossRegisterProxies(loopAnalyses, functionAnalyses, callAnalyses, moduleAnalyses);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(PointerInductionPass()));
    for (llvm::Function& function : module)
        if (!function.isDeclaration())
            passes.run(function, functionAnalyses);
}

std::string moduleText(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
}

Result<std::string> generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
        return internalError("LLVM cannot generate code for " + module.getTargetTriple());
    passes.run(module);
    return std::string(buffer.begin(), buffer.end());
}

} // namespace

Result<CompiledKernel> compileKernel(const loops::LoopNest& nest, const Target& target, const CompileOptions& options) {
    const auto machine = makeTargetMachine(target);
    if (!machine)
        return unsupportedError("this LLVM has no back end for " + llvm::sys::getProcessTriple());
    llvm::LLVMContext context;
    context.setDiscardValueNames(!options.wantText);
    llvm::Module module(options.name, context);
    module.setTargetTriple(machine->getTargetTriple().str());
    module.setDataLayout(machine->createDataLayout());
    TS_TRY(emitKernel(module, nest, target, options.name));
    assert(!llvm::verifyModule(module, &llvm::errs()));
    optimize(module, *machine);

    CompiledKernel compiled;
    compiled.kernel.name = options.name;
    for (const loops::Phase& phase : nest.phases)
        compiled.kernel.phaseExtents.push_back(phase.extent);
    for (std::size_t i = nest.inputCount + nest.outputCount; i < nest.arguments.size(); ++i)
        compiled.kernel.scratchBytes.push_back(nest.arguments[i]->shape[0] *
                                               static_cast<std::int64_t>(byteSize(nest.arguments[i]->type)));
    if (options.wantText) {
        compiled.llvmIr = moduleText(module);
        const auto copy = llvm::CloneModule(module);
        TS_ASSIGN(compiled.assembly, generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile));
    }
    TS_ASSIGN(const std::string object, generate(module, *machine, llvm::CodeGenFileType::ObjectFile));
    const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
    compiled.kernel.object.assign(bytes, bytes + object.size());
    return compiled;
}

std::string hostCpuName() { return llvm::sys::getHostCPUName().str(); }

bool hostSupports(Isa isa) {
    const auto features = llvm::sys::getHostCPUFeatures();
    const auto has = [&](const char* name) { return features.lookup(name); };
    const bool v3 = has("avx2") && has("fma") && has("bmi") && has("bmi2") && has("f16c") && has("lzcnt") && has("movbe");
    if (!v3 || (hasByteDots(isa) && !has(isWide(isa) ? "avx512vnni" : "avxvnni")))
        return false;
    return !isWide(isa) || (has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") && has("avx512vl"));
}

} // namespace tunesmith
