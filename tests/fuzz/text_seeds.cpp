// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/seeds.h"

namespace tunesmith::fuzz {

std::vector<std::pair<std::string, std::string>> textSeeds() {
    return {
        {"product.te", "# a product\ndef f(float32[M=5, K=3] A, float32[K, N=4] B) -> C { C[i, j] +=! A[i, k] * B[k, j] }"},
        {"convolution.te", "def f(float32[C=3, H=7] X, float32[O=4, C, K=3] F) -> Y { Y[o, h] +=! X[c, 2*h + k - 1] * F[o, c, k] where h in 0:(H + 1)/2, 0 <= 2*h + k - 1 < H }"},
        {"softmax.te", "def f(float32[M=4, N=9] X) -> Y { m[i] max=! X[i, j]; e[i, j] = exp(X[i, j] - m[i]) s[i] +=! e[i, j] Y[i, j] = e[i, j] / s[i] }"},
        {"whole_numbers.te", "def f(int32[N=4] X, int64[N] I) -> (Q, G) { Q[i] = X[i] / 2 % 3 - X[(i + 1) % N]; G[i] = X[min(max(I[i], 0), N - 1)] }"},
        {"choices.te", "def f(float64[N=9] X, bool[N] b, float64 a) -> Y { Y[i] = !b[i % N] || i >= N ? -a : i < N ? X[i] * 1.5e-3 : 0.0 where i in 0:12 }"},
        {"half.te", "def f(float16[N=4] X) -> (Y, p, l) { Y[i] = float16(erf(X[i]) + float32(i)); p *=! X[i]; l min=! X[i] where i in 1:3, i != 2 }"},
        {"open.te", "def f(float32[N, 3] X) -> Y { Y[i] = X[N - 1 - i, 2] / N }"},
        {"nothing.te", "def f() -> Y { Y[] +=! float32(i) where i in 2:5 }"},
    };
}

} // namespace tunesmith::fuzz
