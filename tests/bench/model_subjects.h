// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QProcess>
#include <QString>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/module/loaded_module.h"
#include "core/workbench/model.h"

// What benches of whole models compare: exported modules and ONNX Runtime, in blocks that take turns.
namespace tunesmith::bench {

// Something that runs a model for a while and says how long each run took, in ms.
class Subject {
public:
    virtual ~Subject() = default;
    virtual std::vector<float> block() = 0;
};

class ModuleSubject : public Subject {
public:
    ModuleSubject(const std::filesystem::path& folder, int threads, const std::vector<Tensor>& inputs);
    std::vector<float> block() override;

private:
    std::unique_ptr<LoadedModule> module_;
};

// ONNX Runtime in a process of its own, which waits between its blocks. `inputs` is a list as writeInputs() makes it.
class RuntimeSubject : public Subject {
public:
    RuntimeSubject(const QString& model, int threads, const QString& inputs);
    ~RuntimeSubject() override;
    static bool isThere(); // node, and TUNESMITH_BENCH_NODE_MODULES with onnxruntime-node
    bool isReady() const { return isReady_; }
    std::vector<float> block() override;

private:
    QByteArray line();
    QProcess process_;
    bool isReady_ = false;
};

// The inputs as files for the other process; the path of their list.
QString writeInputs(const Model& model, const std::vector<Tensor>& inputs, const QString& folder);

// p5 of each, from blocks that take turns; every other round backwards.
std::vector<double> lowTimes(const std::vector<Subject*>& subjects);

// p5 of reading so many bytes once, by threads that each read their own part again and again, from whatever caches they fit.
double readingSeconds(std::size_t bytes, int threads);

// TUNESMITH_BENCH_MODELS: ONNX files, separated by colons, each with its dimensions if it has open ones (model.onnx?batch=1,height=320).
// Rows of a test's data: the file is the tag, "dimensions" a column.
void addModelRows();

// TUNESMITH_BENCH_TRIALS, or 64.
int trialsPerWorkload();

} // namespace tunesmith::bench
