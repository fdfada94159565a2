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
        {"blocks.te", "def f(float32[M=13, K=5] A, float32[K, N=20] B) -> C { C[i, j] +=! A[i, k] * B[k, j] schedule C { knob TI = 1 | 2 | 4 knob TJ = divisors(N) | 8 knob U = on | off require TI * TJ <= 64"
                      " io, ii = split(i, TI) jo, ji = split(j, TJ) ko, ki = split(k, 2) order io, jo, ko, ki, ii, ji unroll ki, ii if U vectorize ji parallel io } }"},
        {"lanes.te", "def f(float32[M=5, K=30] X) -> Y { S[i] max=! X[i, k] where k in 1:K, X[i, k] < 0.5 schedule S only { knob L = powers(4, 16) ko, kl = split(k, L) io, ii = split(i, 2) p = fuse(io, ii)"
                     " order p, ko, kl vectorize kl parallel p accumulate at p } Y[i] = S[i] * 2 }"},
        {"padding.te", "def f(float32[C=3, H=7, W=9] X, float32[O=4, C, K=3, K] F) -> Y { Y[o, h, w] +=! X[c, h + a - 1, w + b - 1] * F[o, c, a, b] where h in 0:H, w in 0:W, 0 <= h + a - 1 < H, 0 <= w + b - 1 < W"
                       " schedule Y { knob T = 1 | 2 | 4 oo, oi = split(o, T) wo, wi = split(w, T + 1) p = fuse(oo, h) order p, wo, c, a, b, oi, wi if T > 1 parallel p if T > 1 unroll oi, wi if T > 1 } }"},
        {"long.te", "def f(int32[A=3, B=4, C=5] X) -> (Y, Z) { Y[a, b, c] = X[a, b, c] * 2 schedule Y { all = fuse(a, b, c) o, m, i = split(all, 2, 4) vectorize i unroll m parallel o } Z[a] +=! Y[a, b, c] schedule Z { d, e = split(b, 3) order d, a, c, e unroll e } }"},
        {"nothing.te", "def f() -> Y { Y[] +=! float32(i) where i in 2:5 }"},
    };
}

} // namespace tunesmith::fuzz
