// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/kernel_function.h"

namespace tunesmith {

Status checkTypes(const loops::LoopNest& nest) {
    for (const auto* group : {&nest.arguments, &nest.locals})
        for (const auto& buffer : *group)
            if (byteSize(buffer->type) == 0)
                return unsupportedError("kernel '" + nest.name + "': no code can be generated for tensors of " +
                                        std::string(dtypeName(buffer->type)) + " ('" + buffer->name + "')");
    return {};
}

void setTarget(llvm::Function& function, const loops::LoopNest& nest, const Target& target) {
    function.addFnAttr("target-cpu", isWide(target.isa) ? "x86-64-v4" : "x86-64-v3");
    if (hasByteDots(target.isa) && loops::uses(nest, loops::Op::dot4))
        function.addFnAttr("target-features", isWide(target.isa) ? "+avx512vnni" : "+avxvnni");
    if (!target.tuneCpu.empty())
        function.addFnAttr("tune-cpu", target.tuneCpu);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBytes() * 8));
    function.addFnAttr("no-trapping-math", "true");
}

} // namespace tunesmith
