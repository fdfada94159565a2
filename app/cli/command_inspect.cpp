// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/inspect.h"

namespace tunesmith::cli {
namespace {

struct Asked {
    std::string model, part = "summary";
    InspectRequest request;
};

Json hotLoopJson(const std::optional<HotLoop>& loop) {
    if (!loop)
        return nullptr;
    return {{"first_line", loop->firstLine},
            {"lines", loop->lines},
            {"instructions", loop->instructions},
            {"multiply_adds", loop->multiplyAdds},
            {"spills", loop->spills}};
}

Json inspectJson(const KernelInspection& kernel) {
    return {{"key", kernel.key},
            {"name", kernel.name},
            {"config", kernel.config},
            {"schedule", kernel.schedule},
            {"layouts", kernel.layouts},
            {"record_ms", optionalNumber(kernel.recordMs)},
            {"hot_loop", hotLoopJson(kernel.hotLoop)},
            {"loops", kernel.loops},
            {"llvm", kernel.llvmIr},
            {"assembly", kernel.assembly}};
}

std::string summaryText(const KernelInspection& kernel) {
    std::string text = printable(kernel.name) + " (" + kernel.key + ")\nlayouts   " + printable(kernel.layouts) + "\nschedule  " + printable(kernel.schedule) + "\nconfig    " + printable(kernel.config) +
                       (kernel.recordMs ? ", the record: " + timeText(*kernel.recordMs) : std::string()) + "\n";
    if (!kernel.hotLoop)
        return text + "hot loop  none: the code has no loop\n";
    const HotLoop& loop = *kernel.hotLoop;
    return text + "hot loop  lines " + std::to_string(loop.firstLine + 1) + " to " + std::to_string(loop.firstLine + loop.lines) +
           " of the assembly: " + std::to_string(loop.instructions) + " instructions, " + std::to_string(loop.multiplyAdds) +
           " multiply-adds, " + std::to_string(loop.spills) + " spills\n";
}

std::string partText(const KernelInspection& kernel, const std::string& part) {
    return part == "loops" ? kernel.loops : part == "llvm" ? kernel.llvmIr : part == "assembly" ? kernel.assembly : summaryText(kernel);
}

} // namespace

void addInspect(CLI::App& app, Session& session) {
    const auto asked = std::make_shared<Asked>();
    CLI::App& command = *app.add_subcommand("inspect", "One kernel of a model: its schedule, loops, LLVM IR and assembly");
    command.add_option("model", asked->model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    command.add_option("workload", asked->request.workload, "Key, or the beginning of the name of a workload or node")->required();
    command.add_option("--part", asked->part, "What to print")
        ->check(CLI::IsMember({"summary", "loops", "llvm", "assembly"}))
        ->capture_default_str();
    command.add_option("--config", asked->request.config, "Another config than the store's record");
    command.add_flag("--untuned", asked->request.untuned, "Ignore the store's records");
    session.addDimensions(command);
    session.addThreads(command);
    session.addStore(command);
    session.addSpace(command, "Whose schedules (default: that of the key, or tunesmith)");
    session.addJson(command);
    command.callback([&session, asked] {
        session.action = [&session, asked]() -> Result<int> {
            TS_ASSIGN(const Model opened, session.open(asked->model));
            asked->request.store = session.store;
            asked->request.threads = session.threads;
            asked->request.work = session.work();
            asked->request.space = session.space;
            TS_ASSIGN(const KernelInspection kernel, inspectKernel(opened, asked->request));
            return session.print(inspectJson(kernel), partText(kernel, asked->part));
        };
    });
}

} // namespace tunesmith::cli
