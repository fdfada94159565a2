// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/data_object.h"

#include "core/codegen/llvm/llvm_headers.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

namespace tunesmith {
namespace {

// A symbol of the module, declared on its first use.
llvm::GlobalVariable* symbol(llvm::Module& module, const std::string& name) {
    if (auto* known = module.getNamedGlobal(name))
        return known;
    auto* declared = new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(module.getContext()), true,
                                              llvm::GlobalValue::ExternalLinkage, nullptr, name);
    declared->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return declared;
}

llvm::Constant* wordConstant(llvm::Module& module, const DataWord& word) {
    llvm::LLVMContext& context = module.getContext();
    auto* offset = llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context), word.value);
    if (word.symbol.empty())
        return offset;
    return llvm::ConstantExpr::getGetElementPtr(llvm::Type::getInt8Ty(context), symbol(module, word.symbol),
                                                offset);
}

void define(llvm::Module& module, const DataGlobal& data) {
    std::vector<llvm::Constant*> parts;
    for (const DataWord& word : data.words)
        parts.push_back(wordConstant(module, word));
    if (!data.bytes.empty())
        parts.push_back(llvm::ConstantDataArray::getString(module.getContext(), data.bytes, false));
    auto* value = llvm::ConstantStruct::getAnon(module.getContext(), parts);
    auto* global = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::ExternalLinkage, value, "");
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    global->setAlignment(llvm::Align(64));
    if (auto* declared = module.getNamedGlobal(data.name)) { // used before it was defined
        declared->replaceAllUsesWith(global);
        global->takeName(declared);
        declared->eraseFromParent();
    } else {
        global->setName(data.name);
    }
}

Result<std::unique_ptr<llvm::TargetMachine>> makeMachine(const std::string& triple) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    std::string error;
    const auto* backend = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!backend)
        return unsupportedError("this LLVM has no back end for " + triple + ": " + error);
    return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
        triple, "x86-64", "", llvm::TargetOptions(), llvm::Reloc::PIC_, llvm::CodeModel::Small));
}

} // namespace

Result<std::vector<std::byte>> compileData(const std::vector<DataGlobal>& globals) {
    const std::string triple = llvm::sys::getProcessTriple();
    TS_ASSIGN(const auto machine, makeMachine(triple));
    llvm::LLVMContext context;
    llvm::Module module("data", context);
    module.setTargetTriple(triple);
    module.setDataLayout(machine->createDataLayout());
    for (const DataGlobal& global : globals)
        define(module, global);
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
        return internalError("LLVM cannot write objects for " + triple);
    passes.run(module);
    const auto* bytes = reinterpret_cast<const std::byte*>(buffer.data());
    return std::vector<std::byte>(bytes, bytes + buffer.size());
}

} // namespace tunesmith
