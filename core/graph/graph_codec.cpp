// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph_codec.h"

#include <bit>

#include "core/graph/graph_builder.h"

namespace tunesmith {
namespace {

constexpr std::uint64_t kFormat = 0x54530001; // changes with everything below

class Writer {
public:
    explicit Writer(const PlaceConstant& place) : place_(place) {}

    void graph(const Graph& graph) {
        number(kFormat);
        text(graph.name());
        number(graph.opsets().size());
        for (const auto& [domain, version] : graph.opsets()) {
            text(domain);
            integer(version);
        }
        values(graph);
        number(graph.nodeCount());
        for (const auto& node : graph.nodes())
            this->node(*node);
        ids(graph.outputs());
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    void number(std::uint64_t value) { // seven bits at a time, the lowest first
        for (; value >= 0x80; value >>= 7)
            bytes_.push_back(static_cast<std::byte>(value | 0x80));
        bytes_.push_back(static_cast<std::byte>(value));
    }
    void integer(std::int64_t value) { number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63)); }
    void real(float value) { number(std::bit_cast<std::uint32_t>(value)); }
    void text(const std::string& value) {
        number(value.size());
        const auto bytes = std::as_bytes(std::span(value));
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    template <class T, class Write> void list(const std::vector<T>& values, const Write& write) {
        number(values.size());
        for (const T& value : values)
            write(value);
    }
    void integers(const std::vector<std::int64_t>& values) {
        list(values, [this](std::int64_t value) { integer(value); });
    }
    void ids(const std::vector<ValueId>& values) {
        list(values, [this](ValueId id) { integer(id.valid() ? static_cast<std::int64_t>(id.index()) : -1); });
    }

    void type(const TensorType& type) {
        number(static_cast<std::uint64_t>(type.dtype));
        number(type.opaque ? 1 + static_cast<std::uint64_t>(type.opaque->kind) : 0);
        if (type.opaque) {
            text(type.opaque->text);
            text(type.opaque->encoded);
            number(type.opaque->element ? 1 : 0);
            if (type.opaque->element)
                this->type(*type.opaque->element);
        }
        number(type.dims ? type.dims->size() + 1 : 0);
        for (std::size_t i = 0; type.dims && i < type.dims->size(); ++i) {
            integer((*type.dims)[i].extent);
            text((*type.dims)[i].symbol);
        }
    }

    void tensor(const Tensor& tensor) {
        number(static_cast<std::uint64_t>(tensor.type()));
        integers(tensor.shape());
        if (tensor.type() == DType::string)
            list(tensor.strings(), [this](const std::string& value) { text(value); });
        else if (!tensor.absent())
            integer(place_(tensor));
    }

    // Inputs and captures come in an order of their own, which is part of the graph.
    void values(const Graph& graph) {
        ids(graph.inputs());
        ids(graph.captures());
        number(graph.valueCount());
        for (const auto& value : graph.values()) {
            text(value->name);
            type(value->type);
            number(value->isConstant() ? 1 : value->hasDefault() ? 2 : 0);
            if (value->isConstant() || value->hasDefault())
                tensor(value->isConstant() ? value->constant : value->fallback);
        }
    }

    void node(const Node& node) {
        text(node.name);
        text(node.op);
        text(node.domain);
        ids(node.inputs);
        ids(node.outputs);
        number(node.attributes.size());
        for (const auto& [name, attribute] : node.attributes) {
            text(name);
            number(attribute.index());
            std::visit([this](const auto& value) { this->attribute(value); }, attribute);
        }
    }

    void attribute(std::int64_t value) { integer(value); }
    void attribute(float value) { real(value); }
    void attribute(const std::string& value) { text(value); }
    void attribute(const Tensor& value) { tensor(value); }
    void attribute(const std::vector<std::int64_t>& values) { integers(values); }
    void attribute(const std::vector<float>& values) {
        list(values, [this](float value) { real(value); });
    }
    void attribute(const std::vector<std::string>& values) {
        list(values, [this](const std::string& value) { text(value); });
    }
    void attribute(const std::shared_ptr<const Graph>& body) { graph(*body); }

    const PlaceConstant& place_;
    std::vector<std::byte> bytes_;
};

// Past the end everything is zero; whoever reads asks failed() once at the end, and no list is longer than what is left.
class Reader {
public:
    Reader(std::span<const std::byte> bytes, const FindConstant& find) : bytes_(bytes), find_(find) {}

    Result<Graph> graph() {
        if (number() != kFormat)
            return broken();
        GraphBuilder builder(text());
        for (std::size_t i = count(); i > 0; --i) {
            const std::string domain = text();
            builder.setOpset(domain, integer());
        }
        TS_TRY(values(builder));
        for (std::size_t i = count(); i > 0; --i) {
            TS_ASSIGN(Node node, this->node());
            builder.addNode(std::move(node));
        }
        builder.setOutputs(ids());
        return failed_ ? Result<Graph>(broken()) : builder.build();
    }

private:
    static Error broken() { return internalError("the description of a step is damaged; export the module again"); }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at_ >= bytes_.size())
                break;
            const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80)
                return value;
        }
        failed_ = true;
        return 0;
    }
    std::size_t count() {
        const std::uint64_t value = number();
        failed_ = failed_ || value > bytes_.size() - at_;
        return failed_ ? 0 : static_cast<std::size_t>(value);
    }
    std::int64_t integer() {
        const std::uint64_t value = number();
        return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
    }
    float real() { return std::bit_cast<float>(static_cast<std::uint32_t>(number())); }
    std::string text() {
        const std::size_t size = count();
        at_ += size;
        return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, size};
    }
    template <class Read> auto list(const Read& read) {
        std::vector<decltype(read())> values(count());
        for (auto& value : values)
            value = read();
        return values;
    }
    std::vector<std::int64_t> integers() {
        return list([this] { return integer(); });
    }
    std::vector<ValueId> ids() {
        return list([this] { return id(); });
    }
    ValueId id() {
        const std::int64_t index = integer();
        if (index < 0 || static_cast<std::size_t>(index) >= known_.size()) {
            failed_ = failed_ || index != -1;
            return {};
        }
        return known_[static_cast<std::size_t>(index)];
    }

    TensorType type() {
        TensorType type(dtypeFromNumber(static_cast<std::int64_t>(number())));
        if (const std::uint64_t kind = number(); kind != 0 && !failed_) {
            OpaqueType opaque;
            opaque.text = text();
            opaque.encoded = text();
            const bool hasElement = number() != 0 && !failed_;
            opaque.element = hasElement ? std::make_shared<const TensorType>(this->type()) : nullptr;
            opaque.kind = kind <= 3 && hasElement ? static_cast<OpaqueType::Kind>(kind - 1) : OpaqueType::Kind::other;
            type.opaque = std::make_shared<const OpaqueType>(std::move(opaque));
        }
        const std::size_t rank = count();
        if (rank > 0)
            type.dims.emplace(rank - 1);
        for (std::size_t i = 0; i + 1 < rank; ++i) {
            (*type.dims)[i].extent = integer();
            (*type.dims)[i].symbol = text();
        }
        return type;
    }

    Result<Tensor> tensor() {
        const DType type = dtypeFromNumber(static_cast<std::int64_t>(number()));
        Shape shape = integers();
        const auto elements = checkedElementCount(shape);
        if (!elements || failed_)
            return broken();
        if (type == DType::string) {
            std::vector<std::string> values = list([this] { return text(); });
            if (values.size() != static_cast<std::size_t>(*elements))
                return broken();
            return Tensor::ofStrings(std::move(shape), std::move(values));
        }
        return type == DType::undefined ? Tensor() : Tensor::wrap(type, std::move(shape), find_(integer()), nullptr);
    }

    // As numbers of values that are read only later.
    std::vector<std::size_t> places() {
        return list([this] { return static_cast<std::size_t>(integer()); });
    }

    Status values(GraphBuilder& builder) {
        const std::vector<std::size_t> inputs = places(), captures = places();
        std::vector<Value> values(count());
        for (Value& value : values) {
            value.name = text();
            value.type = type();
            if (const std::uint64_t held = number(); held != 0) {
                TS_ASSIGN((held == 1 ? value.constant : value.fallback), tensor());
            }
        }
        known_.assign(values.size(), ValueId());
        const auto add = [&](std::size_t place, ValueId (GraphBuilder::*adder)(const std::string&, TensorType)) {
            failed_ = failed_ || place >= values.size();
            if (!failed_)
                known_[place] = (builder.*adder)(values[place].name, values[place].type);
        };
        for (const std::size_t place : inputs) {
            add(place, &GraphBuilder::addInput);
            if (!failed_)
                builder.setDefault(known_[place], values[place].fallback);
        }
        for (const std::size_t place : captures)
            add(place, &GraphBuilder::addCapture);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i].isConstant())
                known_[i] = builder.addConstant(values[i].name, values[i].constant);
            else if (!known_[i].valid())
                add(i, &GraphBuilder::addValue);
        return failed_ ? Status(broken()) : Status();
    }

    Result<Node> node() {
        Node node;
        node.name = text();
        node.op = text();
        node.domain = text();
        node.inputs = ids();
        node.outputs = ids();
        for (std::size_t i = count(); i > 0; --i) {
            std::string name = text();
            TS_ASSIGN(node.attributes[std::move(name)], attribute());
        }
        return node;
    }

    Result<Attribute> attribute() {
        switch (number()) {
        case 0: return Attribute(integer());
        case 1: return Attribute(real());
        case 2: return Attribute(text());
        case 3: {
            TS_ASSIGN(Tensor value, tensor());
            return Attribute(std::move(value));
        }
        case 4: return Attribute(integers());
        case 5: return Attribute(list([this] { return real(); }));
        case 6: return Attribute(list([this] { return text(); }));
        case 7: {
            const std::vector<ValueId> outer = std::exchange(known_, {});
            TS_ASSIGN(Graph body, graph());
            known_ = outer;
            return Attribute(std::make_shared<const Graph>(std::move(body)));
        }
        default: return broken();
        }
    }

    std::span<const std::byte> bytes_;
    const FindConstant& find_;
    std::size_t at_ = 0;
    bool failed_ = false;
    std::vector<ValueId> known_; // of the graph that is being read
};

} // namespace

std::vector<std::byte> packGraph(const Graph& graph, const PlaceConstant& place) {
    Writer writer(place);
    writer.graph(graph);
    return writer.take();
}

Result<Graph> unpackGraph(std::span<const std::byte> bytes, const FindConstant& find) { return Reader(bytes, find).graph(); }

} // namespace tunesmith
