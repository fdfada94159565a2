// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

#include "core/graph/tensor_type.h"
#include "core/te/bound_schedule.h"

namespace tunesmith::te {

// One statement on its own, with the tensors that it reads as inputs: what a node of a graph carries, as a text. Sizes are
// names, bound by the shapes of the inputs; a tensor whose size alone is used is an input, too. The text is canonical, so that
// equal computations have equal texts: tensors and sizes are numbered, only index variables keep their names.
class Comprehension {
public:
    // Statement `index` of a checked definition. `inputs` receives the names of the tensors that its inputs are.
    static Comprehension of(const Definition& definition, std::size_t index, std::vector<std::string>& inputs);
    static Result<Comprehension> fromText(std::string_view text);

    std::string text() const;
    const std::vector<Input>& inputs() const { return definition_.inputs; }
    // No reduction and no schedule of its own, and every tensor is read at the output's own index, or lacks some of its dimensions: then it can be computed
    // together with what makes its inputs.
    bool isElementwise() const;

    // The output's type. Dimensions that are not known yet have the name that the inputs give them, or none. An Error where the
    // inputs do not fit, or reads leave them.
    Result<TensorType> outputType(const std::vector<TensorType>& inputs) const;
    // The stage for inputs with static types, as outputType() takes them.
    Result<loops::Stage> lower(const std::vector<loops::TensorRef>& inputs, const std::string& name) const;
    // How the text wants it to be computed, for inputs with static types; nothing where it does not say.
    Result<std::optional<BoundSchedule>> schedule(const std::vector<TensorType>& inputs) const;

private:
    explicit Comprehension(Definition definition) : definition_(std::move(definition)) {}
    const Statement& statement() const { return definition_.statements.front(); }
    struct Numbers { // what static types say
        Sizes sizes;
        Intervals ranges;
    };
    Status checkInputs(const std::vector<TensorType>& inputs) const;
    Result<Numbers> numbersOf(const std::vector<TensorType>& inputs) const;
    Result<std::map<std::string, Dim>> bind(const std::vector<TensorType>& inputs) const;
    Dim openDim(const std::string& axis, const std::map<std::string, Dim>& sizes, const std::vector<TensorType>& inputs) const;

    Definition definition_; // of a single statement
};

} // namespace tunesmith::te
