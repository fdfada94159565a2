// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/alias_scopes.h"

#include <llvm/IR/MDBuilder.h>

namespace tunesmith {

AliasScopes::AliasScopes(llvm::LLVMContext& context, const loops::LoopNest& nest) {
    llvm::MDBuilder builder(context);
    llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain(nest.name);
    std::vector<llvm::Metadata*> scopes; // of each argument, then of the locals
    for (std::size_t i = 0; i <= nest.arguments.size(); ++i)
        scopes.push_back(builder.createAnonymousAliasScope(domain));
    const auto tagsOf = [&](std::size_t i) {
        std::vector<llvm::Metadata*> others = scopes;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        return Tags{llvm::MDNode::get(context, scopes[i]), llvm::MDNode::get(context, others)};
    };
    for (std::size_t i = 0; i < nest.arguments.size(); ++i)
        arguments_[nest.arguments[i].get()] = tagsOf(i);
    locals_ = tagsOf(nest.arguments.size());
}

void AliasScopes::mark(llvm::Instruction& access, const loops::TensorDecl* buffer) const {
    const auto argument = arguments_.find(buffer);
    const Tags& tags = argument == arguments_.end() ? locals_ : argument->second;
    access.setMetadata(llvm::LLVMContext::MD_alias_scope, tags.own);
    access.setMetadata(llvm::LLVMContext::MD_noalias, tags.others);
}

} // namespace tunesmith
