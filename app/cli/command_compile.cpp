// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/family.h"

namespace tunesmith::cli {
namespace {

Json compileJson(const CompileResult& result) {
    return {{"folder", result.folder.string()},
            {"prefix", result.prefix},
            {"library_bytes", result.libraryBytes},
            {"weight_bytes", result.weightBytes},
            {"arena_bytes", result.arenaBytes},
            {"threads", result.threads},
            {"steps", result.steps},
            {"kernels", result.kernels},
            {"tuned", result.tuned},
            {"foreign_records", result.foreign},
            {"planned_layouts", result.layouts},
            {"check",
             {{"passed", result.check.passed},
              {"max_relative", result.check.maxRelative},
              {"draws", result.check.draws},
              {"nudged", result.check.nudged},
              {"steps", result.check.kernels},
              {"step_max_relative", result.check.kernelError},
              {"text", result.check.text}}}};
}

std::string compileText(const CompileResult& result) {
    return "Wrote " + printable(result.folder.string()) + ": lib" + result.prefix + ".so (" +
           bytesText(static_cast<double>(result.libraryBytes)) + "), weights " +
           bytesText(static_cast<double>(result.weightBytes)) + ", memory " +
           bytesText(static_cast<double>(result.arenaBytes)) + "\n" + std::to_string(result.kernels) +
           " kernels, " + std::to_string(result.tuned) + " of them tuned, " + std::to_string(result.steps) +
           " steps, " + std::to_string(result.threads) + (result.threads == 1 ? " thread\n" : " threads\n") +
           (result.layouts == 0 ? std::string() : "Layouts: " + std::to_string(result.layouts) + " planned by measured costs\n") +
           (result.foreign == 0 ? std::string()
                                : "Records of another machine: " + std::to_string(result.foreign) + "; tune here to measure them again\n") +
           (result.check.passed ? "Checked: " : "Accepted, as was asked: ") + result.check.text + "\n";
}

Json familyJson(const FamilyResult& family) {
    Json modules = Json::array(), mixing = Json::object();
    for (const FamilyResult::Member& member : family.members) {
        Json module = compileJson(member.module);
        module["extents"] = member.extents;
        modules.push_back(std::move(module));
    }
    for (const auto& [name, why] : family.mixing)
        mixing[name] = why;
    return {{"folder", family.folder.string()}, {"modules", modules}, {"mixing", mixing}};
}

std::string familyText(const FamilyResult& family) {
    std::string text;
    for (const FamilyResult::Member& member : family.members)
        text += compileText(member.module) + "\n";
    for (const auto& [name, why] : family.mixing)
        text += "Other values of " + printable(name) + " are compiled when they first occur: " + printable(why) + "\n";
    if (family.mixing.empty())
        text += "For values between these a larger module runs padded inputs, once that is proven for the "
                "value asked for.\n";
    return text;
}

} // namespace

void addCompile(CLI::App& app, Session& session) {
    struct Options {
        std::string model, folder, prefix;
        bool untuned = false;
        double accepted = 0;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand(
        "compile", "The best records of the store as a module that any C program can load");
    command.add_option("model", options->model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    command.add_option("-o,--output", options->folder, "Folder to write")->required()->type_name("DIR");
    command.add_flag("--untuned", options->untuned, "Ignore the store's records");
    command.add_option("--prefix", options->prefix, "Of library, header and C functions, so that several modules fit into one program (default: of the model's name)")
        ->check(asCheck(checkAskedPrefix))
        ->type_name("NAME");
    command.add_option("--accept-difference", options->accepted, "From the reference engine, of an output's scale, that is accepted where rounding does not explain it (0.01: a hundredth)")
        ->check(CLI::Range(0.0, 1e6));
    session.addDimensionRanges(command);
    session.addThreads(command);
    session.addBuilders(command);
    session.addInputs(command);
    session.addStore(command);
    session.addSpace(command, kSpaceOfModule);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            CompileRequest request{options->folder,  session.store, session.threads, session.builders,
                                   options->untuned, session.seed,  session.work(),  session.space, options->prefix, options->accepted};
            TS_ASSIGN(const InputChoice inputs, session.inputChoice());
            request.inputs = inputs.files;
            if (session.dimensions.size() < session.ranges.size()) {
                TS_ASSIGN(const FamilyResult family, compileFamily(options->model, session.ranges, request));
                return session.print(familyJson(family), familyText(family));
            }
            TS_ASSIGN(const Model model, session.open(options->model));
            TS_ASSIGN(const CompileResult result, compileModel(model, request));
            return session.print(compileJson(result), compileText(result));
        };
    });
}

} // namespace tunesmith::cli
