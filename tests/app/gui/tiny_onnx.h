// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>

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

inline QByteArray tinyOnnx(const QByteArray& op, const QByteArray& dim) {
    const QByteArray node =
        protoField(1, "x") + protoField(2, "y") + protoField(3, "the_node") + protoField(4, op);
    const QByteArray graph = protoField(1, node) + protoField(2, "tiny") +
                             protoField(11, tinyTensor("x", dim)) + protoField(12, tinyTensor("y", dim));
    return protoNumber(1, 8) + protoField(7, graph) + protoField(8, protoField(1, "") + protoNumber(2, 13));
}

} // namespace tunesmith
