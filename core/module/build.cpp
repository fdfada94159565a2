// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/build.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/helpers.h"
#include "core/graph/cut_out.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_codec.h"
#include "core/module/memory_plan.h"
#include "core/module/sub_buffers.h"
#include "core/schedule/in_place.h"

namespace tunesmith {
namespace {

using loops::Layout;
using Place = PlanBuffer::Place;

// A kernel that is to be compiled, found by workload and config.
struct PendingKernel {
    ScheduledKernel scheduled;
    std::string symbol;
};

class ModuleBuilder {
public:
    ModuleBuilder(const Graph& graph, const BuildOptions& options) : graph_(graph), options_(options) {}

    Result<ModulePlan> run() {
        plan_.name = graph_.name();
        plan_.target = options_.target;
        groups_ = groupNodes(graph_);
        if (options_.layouts)
            TS_TRY(checkLayoutPlan(*options_.layouts, graph_, groups_, options_.target));
        layouts_ = options_.layouts ? *options_.layouts : chooseLayouts(graph_, groups_, options_.target);
        slots_ = findSubBuffers(graph_, groups_, layouts_);
        TS_TRY(bindInputs());
        for (const KernelGroup& group : groups_)
            TS_TRY(addSteps(group));
        TS_TRY(bindOutputs());
        overwriteInputs();
        placeBuffers();
        TS_TRY(checkMemory(plan_));
        TS_TRY(compileKernels());
        return std::move(plan_);
    }

private:
    // Buffers ---------------------------------------------------------------------------------------------------------
    std::size_t addBuffer(std::string name, Place place, std::int64_t bytes, std::string layout, Layout order = Layout()) {
        plan_.buffers.push_back({std::move(name), place, 0, bytes, std::move(layout), std::move(order)});
        parents_.push_back({});
        return plan_.buffers.size() - 1;
    }

    static std::int64_t bytesOf(const TensorType& type, const Layout& layout) {
        return static_cast<std::int64_t>(storedBytes(type.dtype, layout.elementCount(type.shape())));
    }

    std::size_t newValueBuffer(ValueId value, const Layout& layout) {
        const Value& v = graph_.value(value);
        return addBuffer(v.name, Place::arena, bytesOf(v.type, layout), layout.text(), layout);
    }

    bool isDynamic(ValueId value) const {
        const TensorType& type = graph_.value(value).type;
        return !type.isStatic() || bitSize(type.dtype) == 0;
    }

    // The buffer that a value is computed into: of its own, or a slice of the concatenation that it goes into.
    std::size_t outputBuffer(ValueId value) {
        std::optional<std::size_t> slice; // that lies in what comes next
        for (ValueId id = value;;) {
            const auto [found, fresh] = buffers_.try_emplace(id);
            if (fresh)
                found->second = isDynamic(id) ? addBuffer(graph_.value(id).name, Place::dynamic, 0, "")
                                              : newValueBuffer(id, layoutOf(layouts_, graph_, id));
            if (slice)
                parents_[*slice].buffer = found->second;
            const auto slot = slots_.find(id);
            if (!fresh || isDynamic(id) || slot == slots_.end())
                return buffers_.at(value);
            slice = found->second;
            parents_[*slice] = Parent{0, slot->second.offset};
            id = slot->second.whole;
        }
    }

    Status bindInputs() {
        for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
            const ValueId id = graph_.inputs()[i];
            const Value& value = graph_.value(id);
            if (!value.type.isStatic())
                return inputError("input '" + value.name + "' is " + value.type.text() + ": bind its dimensions (--dims) to compile the model");
            const Shape shape = value.type.shape();
            const Layout rows = Layout::rowMajor(shape.size());
            const std::size_t buffer = addBuffer(value.name, Place::input, bytesOf(value.type, rows), "row-major", rows);
            plan_.buffers[buffer].offset = static_cast<std::int64_t>(i);
            buffers_[id] = buffer;
            plan_.inputs.push_back({value.name, value.type.dtype, shape, buffer});
            if (value.hasDefault())
                plan_.inputs.back().fallback = constantBuffer(id, value.fallback, Layout::rowMajor(shape.size()));
        }
        return {};
    }

    std::size_t constantBuffer(ValueId id, const Tensor& tensor, const Layout& layout, WeightTransform transform = WeightTransform::none) {
        const std::string form = std::to_string(static_cast<int>(tensor.type())) + shapeText(tensor.shape()) + layout.text() + "/" + std::to_string(static_cast<int>(transform));
        const auto key = std::pair(tensor.bytes().data(), tensor.byteCount() > 0 ? form : form + graph_.value(id).name); // of the graph, which keeps them; several constants may share them
        if (const auto found = constants_.find(key); found != constants_.end())
            return found->second;
        Tensor packed = packConstant(tensor, transform, layout);
        const auto bytes = static_cast<std::int64_t>(packed.byteCount());
        const std::size_t buffer = addBuffer(graph_.value(id).name, Place::constant, bytes, layout.text("OIHW"));
        plan_.buffers[buffer].offset = plan_.weightBytes;
        plan_.weightBytes += (bytes + 63) / 64 * 64;
        plan_.constants.push_back({buffer, std::move(packed)});
        return constants_[key] = buffer;
    }

    Result<std::size_t> rowMajorBuffer(ValueId id) { return bufferIn(id, Layout::rowMajor(graph_.value(id).type.shape().size())); }

    // A value in some layout, converted if it is kept in another.
    Result<std::size_t> bufferIn(ValueId id, const Layout& wanted) {
        const Value& value = graph_.value(id);
        if (value.isConstant())
            return constantBuffer(id, value.constant, wanted);
        const Layout layout = layoutOf(layouts_, graph_, id);
        if (sameOrder(layout, wanted, value.type.shape()))
            return buffers_.at(id);
        const auto key = std::pair(id, wanted.text());
        if (const auto found = converted_.find(key); found != converted_.end())
            return found->second;
        const std::size_t buffer = newValueBuffer(id, wanted);
        TS_TRY(addConversion(id, layout, buffers_.at(id), wanted, buffer));
        return converted_[key] = buffer;
    }

    // Steps -----------------------------------------------------------------------------------------------------------
    Status addSteps(const KernelGroup& group) {
        switch (group.kind) {
        case KernelGroup::Kind::alias: return addAlias(group);
        case KernelGroup::Kind::reference: return addNode(group.nodes[0]);
        default: return addGroup(group);
        }
    }

    // A node that is no kernel. Constants that it reads are a part of its description.
    Status addNode(NodeId id) {
        TS_ASSIGN(const GraphPart part, cutOut(graph_, {id}));
        if (part.outputs.empty()) // nobody reads what it makes
            return {};
        PlanStep step;
        step.name = graph_.node(id).name;
        for (const ValueId input : part.inputs) {
            const bool converts = !isDynamic(input);
            TS_ASSIGN(const std::size_t buffer, converts ? rowMajorBuffer(input) : Result<std::size_t>(buffers_.at(input)));
            step.arguments.push_back(buffer);
        }
        for (const ValueId output : part.outputs)
            step.arguments.push_back(outputBuffer(output));
        step.inputs = part.inputs.size();
        step.outputs = part.outputs.size();
        TS_ASSIGN(const Graph node, withoutOpenShapes(part.graph));
        step.node = PlanNode{graph_.node(id).op, packGraph(node, [this](const Tensor& tensor) { return constantOffset(tensor); })};
        plan_.steps.push_back(std::move(step));
        return {};
    }

    // The node ignores the model's open shapes when it runs, for they may be wrong.
    static Result<Graph> withoutOpenShapes(const Graph& node) {
        GraphBuilder builder(node);
        for (std::size_t i = 0; i < node.valueCount(); ++i)
            if (const TensorType& type = node.values()[i]->type; !type.isStatic() && !type.opaque)
                builder.setType(ValueId(static_cast<std::int64_t>(i)), TensorType(type.dtype));
        return builder.build();
    }

    // Where the bytes of a node's constant lie in the weights.
    std::int64_t constantOffset(const Tensor& tensor) {
        const auto [place, fresh] = nodeConstants_.try_emplace({tensor.bytes().data(), tensor.byteCount()});
        if (fresh)
            place->second = embeddedConstant(tensor);
        return plan_.buffers[place->second].offset;
    }

    Status addAlias(const KernelGroup& group) {
        TS_ASSIGN(const std::size_t buffer, rowMajorBuffer(graph_.node(group.nodes[0]).inputs[0]));
        const auto slot = slots_.find(group.outputs[0]);
        assert(slot == slots_.end() && "aliases are not placed into concatenations");
        static_cast<void>(slot);
        const Value& output = graph_.value(group.outputs[0]);
        const Layout rows = Layout::rowMajor(output.type.dims->size());
        const bool part = bytesOf(output.type, rows) != plan_.buffers[buffer].bytes;
        buffers_[group.outputs[0]] = part ? newValueBuffer(group.outputs[0], rows) : buffer;
        if (part)
            parents_[buffers_[group.outputs[0]]] = Parent{buffer, group.offset};
        return {};
    }

    Status addConversion(ValueId id, const Layout& from, std::size_t source, const Layout& to, std::size_t target) {
        TS_ASSIGN(const Workload workload, conversionWorkload(graph_.value(id).type, from, to));
        TS_ASSIGN(const std::size_t kernel, kernelFor(workload));
        addStep("layout of " + graph_.value(id).name, workload, kernel, {source, target});
        return {};
    }

    Status addGroup(const KernelGroup& group) {
        if (options_.stop.stopRequested())
            return cancelledError();
        if (isSlicedConcat(graph_, group, layouts_))
            return addConcatCopies(group);
        TS_ASSIGN(ExtractedWorkload extracted, extractWorkload(graph_, group, layouts_));
        extracted.workload = inSpace(std::move(extracted.workload), options_.space);
        TS_TRY(convertReads(group));
        TS_ASSIGN(const std::size_t kernel, kernelFor(extracted.workload));
        std::vector<std::size_t> arguments = inputArguments(group, extracted, pending_[kernel].scheduled.lowered);
        for (const ValueId output : group.outputs)
            arguments.push_back(outputBuffer(output));
        std::string name = graph_.node(group.nodes[0]).name;
        for (std::size_t i = 1; i < group.nodes.size(); ++i)
            name += " + " + graph_.node(group.nodes[i]).name;
        addStep(std::move(name), extracted.workload, kernel, std::move(arguments));
        return {};
    }

    Status convertReads(const KernelGroup& group) {
        for (const ValueId input : group.inputs)
            if (const auto read = layouts_.reads.find({group.nodes.front(), input}); read != layouts_.reads.end())
                if (const auto converted = bufferIn(input, read->second); !converted.ok())
                    return converted.error();
        return {};
    }

    std::size_t readBuffer(const KernelGroup& group, ValueId id) const {
        const auto found = converted_.find({id, readLayoutOf(layouts_, graph_, group, id).text()});
        return found != converted_.end() ? found->second : buffers_.at(id);
    }

    std::vector<std::size_t> inputArguments(const KernelGroup& group, const ExtractedWorkload& extracted, const LoweredWorkload& lowered) {
        const Graph& small = extracted.workload.graph;
        std::vector<std::size_t> arguments;
        for (std::size_t i = 0; i < lowered.arguments.size(); ++i) {
            const Value& value = small.value(lowered.arguments[i]);
            if (value.isConstant()) {
                arguments.push_back(embeddedConstant(packConstant(value.constant, lowered.argumentTransforms[i], lowered.argumentLayouts[i])));
                continue;
            }
            const auto position = std::find(small.inputs().begin(), small.inputs().end(), lowered.arguments[i]) - small.inputs().begin();
            const ValueId id = extracted.inputs[static_cast<std::size_t>(position)];
            const Value& outer = graph_.value(id);
            arguments.push_back(outer.isConstant() ? constantBuffer(id, outer.constant, lowered.argumentLayouts[i], lowered.argumentTransforms[i]) : readBuffer(group, id));
        }
        return arguments;
    }

    std::size_t embeddedConstant(const Tensor& tensor) {
        const auto bytes = static_cast<std::int64_t>(tensor.byteCount());
        const std::size_t buffer = addBuffer("constant", Place::constant, bytes, "row-major");
        plan_.buffers[buffer].offset = plan_.weightBytes;
        plan_.weightBytes += (bytes + 63) / 64 * 64;
        plan_.constants.push_back({buffer, tensor});
        return buffer;
    }

    // Inputs that were not computed in place are copied into their slice of the output.
    Status addConcatCopies(const KernelGroup& group) {
        const Node& concat = graph_.node(group.nodes[0]);
        const auto slices = *concatSlices(graph_, concat, layouts_);
        const std::size_t whole = outputBuffer(concat.outputs[0]);
        const Layout layout = layoutOf(layouts_, graph_, concat.outputs[0]);
        for (std::size_t i = 0; i < concat.inputs.size(); ++i) {
            const ValueId input = concat.inputs[i];
            const auto slot = slots_.find(input);
            if (slot != slots_.end() && slot->second.whole == concat.outputs[0] && slot->second.offset == slices[i])
                continue;
            const std::size_t slice = newValueBuffer(input, layout);
            parents_[slice] = Parent{whole, slices[i]};
            const Value& value = graph_.value(input);
            const Layout from = value.isConstant() ? Layout::rowMajor(value.type.shape().size()) : layoutOf(layouts_, graph_, input);
            const std::size_t source = value.isConstant() ? constantBuffer(input, value.constant, from) : buffers_.at(input);
            TS_TRY(addConversion(input, from, source, layout, slice));
        }
        return {};
    }

    void addStep(std::string name, const Workload& workload, std::size_t kernel, std::vector<std::size_t> arguments) {
        const auto& nest = pending_[kernel].scheduled.nest;
        for (std::size_t i = nest.inputCount + nest.outputCount; i < nest.arguments.size(); ++i) {
            const auto bytes = nest.arguments[i]->shape[0] * static_cast<std::int64_t>(byteSize(nest.arguments[i]->type));
            arguments.push_back(addBuffer("scratch", Place::arena, bytes, "scratch"));
        }
        PlanStep step;
        step.name = std::move(name);
        step.kernel = kernel;
        step.arguments = std::move(arguments);
        step.flops = workload.flops;
        step.workload = workload.key;
        step.config = chosen_[kernel].first;
        step.expectedMs = chosen_[kernel].second;
        step.inputs = nest.inputCount;
        step.outputs = nest.outputCount;
        plan_.steps.push_back(std::move(step));
    }

    // Model outputs are memory of their own, in rows. -------------------------------------------------------------------
    Status bindOutputs() {
        for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
            const ValueId id = graph_.outputs()[i];
            const Value& value = graph_.value(id);
            if (isDynamic(id)) {
                bindDynamicOutput(value, buffers_.at(id));
                continue;
            }
            const Shape shape = value.type.shape();
            TS_ASSIGN(std::size_t buffer, rowMajorBuffer(id));
            const bool free = plan_.buffers[buffer].place == Place::arena && !parents_[buffer].exists && !isParent(buffer);
            if (!free) {
                const Layout rows = Layout::rowMajor(shape.size());
                const std::size_t copy = newValueBuffer(id, rows);
                TS_TRY(addConversion(id, rows, buffer, rows, copy));
                buffer = copy;
            }
            plan_.buffers[buffer].place = Place::output;
            plan_.buffers[buffer].offset = static_cast<std::int64_t>(i);
            plan_.outputs.push_back({value.name, value.type.dtype, shape, buffer});
        }
        return {};
    }

    void bindDynamicOutput(const Value& value, std::size_t buffer) {
        Shape shape;
        for (const Dim& dim : value.type.dims.value_or(Dims()))
            shape.push_back(dim.known() ? dim.extent : kOpenExtent);
        plan_.outputs.push_back({value.name, value.type.dtype, std::move(shape), buffer, value.type.dims.has_value()});
    }

    bool isParent(std::size_t buffer) const {
        return std::any_of(parents_.begin(), parents_.end(), [&](const Parent& p) { return p.exists && p.buffer == buffer; });
    }

    // Kernels ---------------------------------------------------------------------------------------------------------
    Result<std::size_t> kernelFor(const Workload& workload) {
        TS_ASSIGN(const auto picked, pickSchedule(workload));
        const auto& [space, chosen] = picked;
        const std::string key = inSpace(workload, chosen.space).key;
        const auto [place, fresh] = kernelIndex_.try_emplace(key + "/" + chosen.config.text(), pending_.size());
        if (fresh) {
            TS_ASSIGN(ScheduledKernel scheduled, space.schedule(chosen.config));
            pending_.push_back({std::move(scheduled), "k" + std::to_string(pending_.size()) + "_" + key});
            chosen_.emplace_back(space.space().describe(chosen.config), chosen.expectedMs);
        }
        return place->second;
    }

    Result<std::pair<ScheduleSpace, ChosenConfig>> pickSchedule(const Workload& workload) const {
        if (const auto known = options_.chooseConfig ? options_.chooseConfig(workload) : std::nullopt) {
            TS_ASSIGN(ScheduleSpace space, ScheduleSpace::make(inSpace(workload, known->space), options_.target));
            if (space.space().validate(known->config).ok())
                return std::pair(std::move(space), *known);
        }
        TS_ASSIGN(ScheduleSpace space, ScheduleSpace::make(workload, options_.target));
        ChosenConfig untuned{space.defaultConfig(), 0, workload.space};
        return std::pair(std::move(space), std::move(untuned));
    }

    Status compileOne(std::size_t index) {
        if (options_.stop.stopRequested())
            return cancelledError();
        TS_ASSIGN(CompiledKernel compiled, compileKernel(pending_[index].scheduled.nest, options_.target, {pending_[index].symbol, false}));
        plan_.kernels[index] = std::move(compiled.kernel);
        return {};
    }

    Status compileKernels() {
        plan_.kernels.resize(pending_.size());
        std::vector<Status> results(pending_.size());
        std::atomic<std::size_t> next{0}, done{0};
        const auto work = [&](std::size_t thread) {
            for (std::size_t i = next++; i < pending_.size(); i = next++) {
                if (thread == 0 && options_.progress)
                    options_.progress(done, pending_.size());
                results[i] = compileOne(i);
                ++done;
            }
        };
        auto helpers = startHelpers(static_cast<std::size_t>(std::max(1, options_.compileThreads)) - 1, work);
        work(0);
        helpers.join();
        for (const Status& result : results)
            TS_TRY(result);
        if (std::ranges::none_of(pending_, [](const PendingKernel& kernel) { return loops::uses(kernel.scheduled.nest, loops::Op::dot4); }))
            plan_.target.isa = levelOf(plan_.target.isa);
        return {};
    }

    // Memory ----------------------------------------------------------------------------------------------------------
    std::size_t rootOf(std::size_t buffer) const {
        while (parents_[buffer].exists)
            buffer = parents_[buffer].buffer;
        return buffer;
    }

    // An output takes the memory of an input that nobody reads any more, where its kernel allows that: sums with a residual, activations.
    void overwriteInputs() {
        std::map<std::size_t, std::size_t> lastStep; // by root
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            for (const std::size_t argument : plan_.steps[s].arguments)
                lastStep[rootOf(argument)] = s;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            if (plan_.steps[s].node)
                continue;
            const LoweredWorkload& lowered = pending_[plan_.steps[s].kernel].scheduled.lowered;
            const auto& arguments = plan_.steps[s].arguments;
            const std::size_t output = arguments[lowered.arguments.size()];
            const auto may = overwritable(lowered);
            for (std::size_t i = 0; i < may.size(); ++i) {
                const std::size_t input = rootOf(arguments[i]);
                const bool dies = may[i] && lastStep.at(input) == s && std::ranges::count_if(arguments, [&](std::size_t other) { return rootOf(other) == input; }) == 1;
                if (!dies || parents_[output].exists || !isWholeInArena(arguments[i]) || !isWholeInArena(output))
                    continue;
                parents_[output] = Parent{input, 0};
                lastStep.at(input) = lastStep.at(output);
                break;
            }
        }
    }

    bool isWholeInArena(std::size_t buffer) const {
        const std::size_t root = rootOf(buffer);
        return plan_.buffers[root].place == Place::arena && plan_.buffers[root].bytes == plan_.buffers[buffer].bytes;
    }

    void placeBuffers() {
        std::map<std::size_t, LiveBuffer> live; // by root
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            for (const std::size_t argument : plan_.steps[s].arguments) {
                const std::size_t root = rootOf(argument);
                if (plan_.buffers[root].place != Place::arena)
                    continue;
                const auto [place, fresh] = live.try_emplace(root, LiveBuffer{plan_.buffers[root].bytes, s, s});
                place->second.lastStep = s;
            }
        std::vector<LiveBuffer> buffers;
        for (const auto& [root, buffer] : live)
            buffers.push_back(buffer);
        const MemoryPlan memory = planMemory(buffers);
        std::size_t position = 0;
        for (const auto& [root, buffer] : live)
            plan_.buffers[root].offset = memory.offsets[position++];
        for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
            std::int64_t offset = 0;
            for (std::size_t b = i; parents_[b].exists; b = parents_[b].buffer)
                offset += parents_[b].offset;
            if (parents_[i].exists)
                plan_.buffers[i].offset = plan_.buffers[rootOf(i)].offset + offset;
        }
        plan_.arenaBytes = memory.bytes;
    }

    struct Parent { // a buffer that is a slice of another
        std::size_t buffer = 0;
        std::int64_t offset = 0;
        bool exists = true;
        Parent() : exists(false) {}
        Parent(std::size_t whole, std::int64_t at) : buffer(whole), offset(at) {}
    };

    const Graph& graph_;
    const BuildOptions& options_;
    ModulePlan plan_;
    std::vector<KernelGroup> groups_;
    LayoutPlan layouts_;
    std::map<ValueId, SubBuffer> slots_;
    std::map<ValueId, std::size_t> buffers_;
    std::map<std::pair<ValueId, std::string>, std::size_t> converted_; // by layout
    std::map<std::pair<const std::byte*, std::string>, std::size_t> constants_;
    std::map<std::pair<const std::byte*, std::size_t>, std::size_t> nodeConstants_; // by bytes, which the graph keeps
    std::vector<Parent> parents_; // parallel to plan_.buffers
    std::vector<PendingKernel> pending_;
    std::vector<std::pair<std::string, double>> chosen_; // parallel to pending_: config text, expected ms
    std::map<std::string, std::size_t> kernelIndex_;
};

} // namespace

Result<ModulePlan> buildModule(const Graph& prepared, const BuildOptions& options) { return ModuleBuilder(prepared, options).run(); }

} // namespace tunesmith
