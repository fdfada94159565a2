// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QList>

namespace tunesmith {

// One node between one input and one output, as bytes of an ONNX file: for models that nothing here would
// write. `dim` is a number of elements, or the name of an open dimension.
inline QByteArray protoField(int number, const QByteArray& bytes) {
    QByteArray size;
    auto rest = static_cast<unsigned>(bytes.size());
    for (; rest >= 0x80; rest >>= 7)
        size += static_cast<char>(rest | 0x80);
    return QByteArray(1, static_cast<char>(number << 3 | 2)) + size + static_cast<char>(rest) + bytes;
}

inline QByteArray protoNumber(int number, int value) { // below 128
    return QByteArray(1, static_cast<char>(number << 3)) + static_cast<char>(value);
}

inline QByteArray tinyTensor(const QByteArray& name, const QByteArray& dim) {
    bool isNumber = false;
    const int extent = dim.toInt(&isNumber);
    const QByteArray shape = protoField(1, isNumber ? protoNumber(1, extent) : protoField(2, dim));
    const QByteArray type = protoField(1, protoNumber(1, 1) + protoField(2, shape)); // float32
    return protoField(1, name) + protoField(2, type);
}

inline QByteArray tinyNode(const QByteArray& op, const QList<QByteArray>& inputs, const QByteArray& output,
                           const QByteArray& name) {
    QByteArray node;
    for (const QByteArray& input : inputs)
        node += protoField(1, input);
    return node + protoField(2, output) + protoField(3, name) + protoField(4, op);
}

inline QByteArray tinyModel(const QByteArray& nodesAndConstants, const QByteArray& dim) {
    const QByteArray graph = nodesAndConstants + protoField(2, "tiny") +
                             protoField(11, tinyTensor("x", dim)) + protoField(12, tinyTensor("y", dim));
    return protoNumber(1, 8) + protoField(7, graph) + protoField(8, protoField(1, "") + protoNumber(2, 13));
}

// x + Identity(w): a node that only computes a constant.
inline QByteArray tinyWithConstant() {
    const QByteArray weight =
        protoNumber(1, 4) + protoNumber(2, 1) + protoField(8, "w") + protoField(9, QByteArray(16, 0));
    return tinyModel(protoField(1, tinyNode("Identity", {"w"}, "v", "copy")) +
                         protoField(1, tinyNode("Add", {"x", "v"}, "y", "sum")) + protoField(5, weight),
                     "4");
}

inline QByteArray tinyOnnx(const QByteArray& op, const QByteArray& dim) {
    return tinyModel(protoField(1, tinyNode(op, {"x"}, "y", "the_node")), dim);
}

} // namespace tunesmith
