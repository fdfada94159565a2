// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/evaluate_nest.h"

#include <limits>
#include <map>

#include "core/loops/scalar.h"

namespace tunesmith::loops {
namespace {

class NestRun {
public:
    NestRun(const LoopNest& nest, const std::vector<Tensor>& inputs)
        : nest_(nest), code_([this](const TensorDecl& decl) -> const Tensor& { return buffers_.at(&decl); }) {
        for (std::size_t i = 0; i < nest.arguments.size(); ++i) {
            const TensorDecl& decl = *nest.arguments[i];
            buffers_[&decl] = i < inputs.size() ? inputs[i].reshaped(decl.shape) : Tensor::zeros(decl.type, decl.shape);
            if (i >= inputs.size())
                spoil(buffers_.at(&decl));
        }
        for (const TensorRef& local : nest.locals)
            buffers_[local.get()] = Tensor::zeros(local->type, local->shape);
    }

    std::vector<Tensor> run() {
        for (const Phase& phase : nest_.phases) {
            const Node body = compile(phase.body);
            const ScalarCode::Cell index = code_.cellOf(phase.parallelVar);
            for (std::int64_t i = phase.extent; i-- > 0;) {
                for (const TensorRef& local : nest_.locals)
                    spoil(buffers_.at(local.get()));
                code_[index].integer = i;
                run(body);
            }
        }
        std::vector<Tensor> outputs;
        for (std::size_t i = 0; i < nest_.outputCount; ++i)
            outputs.push_back(buffers_.at(nest_.arguments[nest_.inputCount + i].get()));
        return outputs;
    }

private:
    struct Node {
        StmtKind kind = StmtKind::block;
        std::vector<Node> body;
        ScalarCode::Cell var = 0;
        ScalarCode::Piece first{}, second{}; // a loop's bounds, a store's offset and value, a guard's condition
        Tensor* buffer = nullptr;
    };

    static void spoil(Tensor& tensor) {
        Scalar nothing;
        if (isFloat(tensor.type()))
            nothing.real = std::numeric_limits<double>::quiet_NaN();
        else
            nothing.integer = 77;
        for (std::int64_t i = 0; i < tensor.count(); ++i)
            storeScalar(tensor, i, nothing);
    }

    Node compile(const Stmt& stmt) {
        Node node;
        if (!stmt || stmt->kind == StmtKind::prefetch)
            return node;
        node.kind = stmt->kind;
        if (stmt->kind == StmtKind::loop) {
            node.var = code_.cellOf(stmt->var);
            node.first = code_.compile(stmt->begin);
            node.second = code_.compile(stmt->end);
        } else if (stmt->kind == StmtKind::store) {
            node.buffer = &buffers_.at(stmt->buffer.get());
            node.first = code_.compile(stmt->offset);
            node.second = code_.compile(stmt->value);
        } else if (stmt->kind == StmtKind::guard) {
            node.first = code_.compile(stmt->condition);
        }
        for (const Stmt& child : stmt->body)
            node.body.push_back(compile(child));
        return node;
    }

    Scalar valueOf(const ScalarCode::Piece& piece) {
        code_.run(piece);
        return code_[piece.result];
    }

    void run(const Node& node) {
        if (node.kind == StmtKind::store)
            return store(node);
        if (node.kind == StmtKind::guard && valueOf(node.first).integer == 0)
            return;
        if (node.kind != StmtKind::loop) {
            for (const Node& child : node.body)
                run(child);
            return;
        }
        const std::int64_t end = valueOf(node.second).integer;
        for (std::int64_t i = valueOf(node.first).integer; i < end; ++i) {
            code_[node.var].integer = i;
            run(node.body[0]);
        }
    }

    void store(const Node& node) {
        const std::int64_t offset = valueOf(node.first).integer;
        if (offset < 0 || offset >= node.buffer->count())
            throw OutOfRange{"a write at " + std::to_string(offset) + " of a buffer of " + std::to_string(node.buffer->count())};
        storeScalar(*node.buffer, offset, valueOf(node.second));
    }

    const LoopNest& nest_;
    std::map<const TensorDecl*, Tensor> buffers_;
    ScalarCode code_;
};

} // namespace

Result<std::vector<Tensor>> evaluate(const LoopNest& nest, const std::vector<Tensor>& inputs) {
    try {
        return NestRun(nest, inputs).run();
    } catch (const OutOfRange& error) {
        return inputError(nest.name + ": " + error.message);
    }
}

} // namespace tunesmith::loops
