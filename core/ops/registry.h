// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/ops/operator.h"

namespace tunesmith::ops {

// One function per file of ops/: appends its operators. registry.cpp calls them all, once.
using OperatorList = std::vector<Operator>;

#define TS_OPERATOR_FILES(X)                                                                                           \
    X(Activation)                                                                                                      \
    X(AffineGrid)                                                                                                      \
    X(ArgReduce)                                                                                                       \
    X(Arithmetic)                                                                                                      \
    X(Attention)                                                                                                       \
    X(BatchNorm)                                                                                                       \
    X(BitCast)                                                                                                         \
    X(CausalConv)                                                                                                      \
    X(CenterCropPad)                                                                                                   \
    X(Col2Im)                                                                                                          \
    X(Comparison)                                                                                                      \
    X(ConcatSplit)                                                                                                     \
    X(Constant)                                                                                                        \
    X(Containers)                                                                                                      \
    X(ContribChannelsLast)                                                                                             \
    X(ContribCopies)                                                                                                   \
    X(ContribCropAndResize)                                                                                            \
    X(ContribDistances)                                                                                                \
    X(ContribDynamicQuantizeLstm)                                                                                      \
    X(ContribEmbedNorm)                                                                                                \
    X(ContribFusedProducts)                                                                                            \
    X(ContribGatherBlockQuantized)                                                                                     \
    X(ContribGeluFamily)                                                                                               \
    X(ContribGroupNorm)                                                                                                \
    X(ContribGroupQueryAttention)                                                                                      \
    X(ContribIntegerArithmetic)                                                                                        \
    X(ContribIntegerProducts)                                                                                          \
    X(ContribInverse)                                                                                                  \
    X(ContribMatMulBnb4)                                                                                               \
    X(ContribMatMulNBits)                                                                                              \
    X(ContribMultiHeadAttention)                                                                                       \
    X(ContribOlderForms)                                                                                               \
    X(ContribPackedAttention)                                                                                          \
    X(ContribQLinearArithmetic)                                                                                        \
    X(ContribQLinearFunctions)                                                                                         \
    X(ContribQLinearPool)                                                                                              \
    X(ContribRootMeanSquare)                                                                                           \
    X(ContribRotaryEmbedding)                                                                                          \
    X(ContribSkipNorm)                                                                                                 \
    X(ControlFlow)                                                                                                     \
    X(Conv)                                                                                                            \
    X(ConvTranspose)                                                                                                   \
    X(DeformConv)                                                                                                      \
    X(Det)                                                                                                             \
    X(Dropout)                                                                                                         \
    X(Einsum)                                                                                                          \
    X(ExpandTile)                                                                                                      \
    X(Experimental)                                                                                                    \
    X(Fourier)                                                                                                         \
    X(Gather)                                                                                                          \
    X(Gemm)                                                                                                            \
    X(GlobalPool)                                                                                                      \
    X(GridSample)                                                                                                      \
    X(Identity)                                                                                                        \
    X(LinearAttention)                                                                                                 \
    X(LocalNorm)                                                                                                       \
    X(Loss)                                                                                                            \
    X(MatMul)                                                                                                          \
    X(MaxUnpool)                                                                                                       \
    X(NonMaxSuppression)                                                                                               \
    X(Normalization)                                                                                                   \
    X(Pad)                                                                                                             \
    X(Pool)                                                                                                            \
    X(Quantize)                                                                                                        \
    X(QuantizedProduct)                                                                                                \
    X(Random)                                                                                                          \
    X(Recurrent)                                                                                                       \
    X(Reduce)                                                                                                          \
    X(Reshape)                                                                                                         \
    X(Resize)                                                                                                          \
    X(Roi)                                                                                                             \
    X(Rotary)                                                                                                          \
    X(Scatter)                                                                                                         \
    X(Selection)                                                                                                       \
    X(Sequence)                                                                                                        \
    X(SignalWindow)                                                                                                    \
    X(Slice)                                                                                                           \
    X(Softmax)                                                                                                         \
    X(TensorExpression)                                                                                                \
    X(TensorScatter)                                                                                                   \
    X(Text)                                                                                                            \
    X(Transpose)                                                                                                       \
    X(Unary)                                                                                                           \
    X(Unpack)

#define TS_DECLARE_OPERATORS(file) void register##file(OperatorList& list);
TS_OPERATOR_FILES(TS_DECLARE_OPERATORS)
#undef TS_DECLARE_OPERATORS

} // namespace tunesmith::ops
