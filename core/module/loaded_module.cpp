// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/loaded_module.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <map>

#include "core/base/rng.h"
#include "core/runtime/content_hash.h"

namespace tunesmith {
namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Tensor anyValue(const ModuleTensor& input, Rng& rng) {
    Tensor tensor = Tensor::zeros(input.type, input.shape);
    if (input.type == DType::f32)
        for (float& value : tensor.mutableData<float>())
            value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

} // namespace

// The part of runtime/model_interface.h that is used here, found by name because each module has its own
// prefix.
struct LoadedModule::Functions {
    int (*create)(void**, int, const char*, char*, std::size_t) = nullptr;
    void (*destroy)(void*) = nullptr;
    const char* (*lastError)(const void*) = nullptr;
    const char* (*statusText)(int) = nullptr;
    int (*setInput)(void*, int, const void*, std::size_t) = nullptr;
    int (*run)(void*) = nullptr;
    const void* (*outputData)(void*, int) = nullptr;
    int (*resultRank)(void*, int) = nullptr;
    const std::int64_t* (*resultDims)(void*, int) = nullptr;
    std::int64_t (*inputBytes)(int) = nullptr;
    std::int64_t (*outputBytes)(int) = nullptr;
    int (*inputCount)() = nullptr;
    int (*outputCount)() = nullptr;
    int (*stepCount)() = nullptr;
    int (*threadCount)(const void*) = nullptr;
    int (*setProfiling)(void*, int) = nullptr;
    std::int64_t (*stepNanoseconds)(const void*, int) = nullptr;
    int (*probeWrite)(void*, std::int64_t, const void*, std::size_t) = nullptr; // these are in modules with probes alone
    int (*probeRead)(void*, std::int64_t, void*, std::size_t) = nullptr;
    int (*probeStep)(void*, std::int64_t) = nullptr;

    std::string find(void* library, const std::string& prefix) { // the name that is missing, or nothing
        std::string missing;
        const auto resolve = [&](auto& function, const char* suffix) {
            const std::string name = prefix + "_" + suffix;
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name.c_str()));
            if (!function)
                missing = name;
        };
        resolve(create, "create");
        resolve(destroy, "destroy");
        resolve(lastError, "last_error");
        resolve(statusText, "status_text");
        resolve(setInput, "set_input");
        resolve(run, "run");
        resolve(outputData, "output_data");
        resolve(resultRank, "result_rank");
        resolve(resultDims, "result_dims");
        resolve(inputBytes, "input_bytes");
        resolve(outputBytes, "output_bytes");
        resolve(inputCount, "input_count");
        resolve(outputCount, "output_count");
        resolve(stepCount, "step_count");
        resolve(threadCount, "thread_count");
        resolve(setProfiling, "set_profiling");
        resolve(stepNanoseconds, "step_nanoseconds");
        const std::string needed = missing;
        resolve(probeWrite, kProbeFunctions[0]);
        resolve(probeRead, kProbeFunctions[1]);
        resolve(probeStep, kProbeFunctions[2]);
        return needed;
    }

    // module.json and the library must tell the same story, because tensors are sized by the former.
    bool agrees(const ModuleInfo& info) const {
        const auto same = [](const std::vector<ModuleTensor>& tensors, int count,
                             std::int64_t (*bytes)(int)) {
            if (count != static_cast<int>(tensors.size()))
                return false;
            for (int i = 0; i < count; ++i) {
                const ModuleTensor& tensor = tensors[static_cast<std::size_t>(i)];
                if (bytes(i) != (tensor.isOpen() ? -1 : static_cast<std::int64_t>(storedBytes(tensor.type, elementCount(tensor.shape)))))
                    return false;
            }
            return true;
        };
        return same(info.inputs, inputCount(), inputBytes) &&
               same(info.outputs, outputCount(), outputBytes) &&
               stepCount() == static_cast<int>(info.steps.size());
    }
};

LoadedModule::LoadedModule(ModuleInfo info, void* library)
    : info_(std::move(info)), library_(library), functions_(std::make_unique<Functions>()) {}

LoadedModule::~LoadedModule() {
    if (instance_)
        functions_->destroy(instance_);
    ::dlclose(library_);
}

Result<std::unique_ptr<LoadedModule>> LoadedModule::open(const std::filesystem::path& folder, int threads) {
    std::error_code error;
    const auto absolute =
        std::filesystem::absolute(folder, error); // with a slash, or dlopen would search elsewhere
    TS_ASSIGN(ModuleInfo info, readModuleInfo(absolute));
    TS_TRY(checkLibrary(info));
    void* library = ::dlopen(info.library().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ioError(std::string("cannot load the module: ") + ::dlerror());
    std::unique_ptr<LoadedModule> module(new LoadedModule(std::move(info), library));
    TS_TRY(module->connect(threads));
    return module;
}

Status LoadedModule::connect(int threads) {
    if (const std::string missing = functions_->find(library_, info_.prefix); !missing.empty())
        return inputError(info_.library().string() + " has no function " + missing +
                          "; export the module again");
    if (!functions_->agrees(info_))
        return inputError((info_.folder / "module.json").string() + " does not describe " +
                          info_.library().filename().string() + "; export the module again");
    char message[512] = "";
    if (functions_->create(&instance_, threads, info_.folder.c_str(), message, sizeof message) != 0)
        return inputError("cannot start the module '" + info_.name + "': " + message);
    return {};
}

Status LoadedModule::checked(int status) const {
    if (status == 0)
        return {};
    const std::string message = functions_->lastError(instance_);
    return inputError("module '" + info_.name +
                      "': " + (message.empty() ? functions_->statusText(status) : message));
}

int LoadedModule::threads() const {
    return functions_->threadCount(instance_);
}

Status LoadedModule::setInputs(const std::vector<Tensor>& inputs) {
    if (inputs.size() != info_.inputs.size())
        return inputError("module '" + info_.name + "' has " + std::to_string(info_.inputs.size()) +
                          " inputs, not " + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ModuleTensor& wanted = info_.inputs[i];
        if (inputs[i].type() != wanted.type || inputs[i].shape() != wanted.shape)
            return inputError("input '" + wanted.name + "' of module '" + info_.name + "' is " +
                              std::string(dtypeName(wanted.type)) + " " + shapeText(wanted.shape) + ", not " +
                              std::string(dtypeName(inputs[i].type())) + " " + shapeText(inputs[i].shape()));
        TS_TRY(checked(functions_->setInput(instance_, static_cast<int>(i), inputs[i].bytes().data(),
                                            inputs[i].byteCount())));
    }
    return {};
}

Status LoadedModule::setAnyInputs() {
    Rng rng(1);
    std::vector<Tensor> inputs;
    for (const ModuleTensor& input : info_.inputs)
        inputs.push_back(anyValue(input, rng));
    return setInputs(inputs);
}

Status LoadedModule::run() {
    return checked(functions_->run(instance_));
}

std::vector<Tensor> LoadedModule::outputs() const {
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
        const int rank = functions_->resultRank(instance_, static_cast<int>(i));
        const std::int64_t* dims = functions_->resultDims(instance_, static_cast<int>(i));
        Tensor tensor = Tensor::zeros(info_.outputs[i].type, rank > 0 ? Shape(dims, dims + rank) : Shape());
        const void* data = functions_->outputData(instance_, static_cast<int>(i));
        if (data && tensor.byteCount() > 0)
            std::memcpy(tensor.mutableBytes().data(), data, tensor.byteCount());
        outputs.push_back(std::move(tensor));
    }
    return outputs;
}

Status LoadedModule::probe(std::int64_t step, const std::vector<Probe>& inputs, std::vector<Probe>& outputs) {
    if (!functions_->probeStep || !functions_->probeRead || !functions_->probeWrite)
        return internalError("module '" + info_.name + "' was made without probes");
    int status = 0;
    for (const Probe& output : outputs) // first, for it may share the memory of an input
        status |= functions_->probeWrite(instance_, output.buffer, nullptr, output.flat.byteCount());
    for (const Probe& input : inputs)
        status |= functions_->probeWrite(instance_, input.buffer, input.flat.bytes().data(), input.flat.byteCount());
    if (status == 0)
        status = functions_->probeStep(instance_, step);
    for (Probe& output : outputs)
        status |= functions_->probeRead(instance_, output.buffer, output.flat.mutableBytes().data(), output.flat.byteCount());
    return status == 0 ? Status() : Status(internalError("step " + std::to_string(step) + " of module '" + info_.name + "' cannot be probed"));
}

Result<std::uint64_t> LoadedModule::hashOf(const TracedBuffer& buffer) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes));
    if (!functions_->probeRead || functions_->probeRead(instance_, buffer.buffer, bytes.data(), bytes.size()) != 0)
        return internalError("buffer " + std::to_string(buffer.buffer) + " of module '" + info_.name + "' cannot be read");
    return ts_content_hash(bytes.data(), bytes.size());
}

Result<LoadedModule::Clobbered> LoadedModule::trace(const std::vector<TracedStep>& steps) {
    std::map<std::string, std::uint64_t> written;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        for (const TracedBuffer& input : steps[step].inputs) {
            TS_ASSIGN(const std::uint64_t hash, hashOf(input));
            if (const auto [known, fresh] = written.try_emplace(input.value, hash); known->second != hash)
                return Clobbered{static_cast<std::int64_t>(step), input.value};
        }
        if (functions_->probeStep(instance_, static_cast<std::int64_t>(step)) != 0)
            return internalError("step " + std::to_string(step) + " of module '" + info_.name + "' cannot be run alone");
        for (const TracedBuffer& output : steps[step].outputs) {
            TS_ASSIGN(written[output.value], hashOf(output));
        }
    }
    return Clobbered{};
}

Result<ThinnedSamples> LoadedModule::time(const TimingBudget& budget) {
    if (budget.runs <= 0 && budget.seconds <= 0)
        return inputError("a measurement needs a number of runs or of seconds");
    for (int i = 0; i < budget.warmUp; ++i)
        TS_TRY(run());
    ThinnedSamples samples;
    const double start = now();
    do {
        const double before = now();
        TS_TRY(run());
        samples.add(now() - before);
    } while ((budget.runs <= 0 || static_cast<int>(samples.count()) < budget.runs) &&
             (budget.seconds <= 0 || now() - start < budget.seconds));
    return samples;
}

Result<std::vector<double>> LoadedModule::timeStepsOnce() {
    TS_TRY(checked(functions_->setProfiling(instance_, 1)));
    const Status ran = run();
    TS_TRY(checked(functions_->setProfiling(instance_, 0)));
    TS_TRY(ran);
    std::vector<double> seconds;
    for (std::size_t step = 0; step < info_.steps.size(); ++step)
        seconds.push_back(1e-9 * static_cast<double>(functions_->stepNanoseconds(instance_, static_cast<int>(step))));
    return seconds;
}

Result<std::vector<double>> LoadedModule::timeSteps(int runs) {
    std::vector<std::vector<double>> samples(info_.steps.size());
    for (int i = 0; i < std::max(runs, 1); ++i) {
        TS_ASSIGN(const std::vector<double> seconds, timeStepsOnce());
        for (std::size_t step = 0; step < samples.size(); ++step)
            samples[step].push_back(seconds[step]);
    }
    std::vector<double> medians;
    for (const auto& values : samples)
        medians.push_back(median(values));
    return medians;
}

} // namespace tunesmith
