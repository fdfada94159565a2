// SPDX-License-Identifier: GPL-3.0-or-later
// A picture is blurred, scaled and summed up: loops whose speed depends on what the compiler makes of them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWidth = 512, kHeight = 384, kRounds = 24 };

static float picture[kHeight][kWidth], blurred[kHeight][kWidth];

static void fill(void) {
    unsigned state = 12345;
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) {
            state = state * 1664525u + 1013904223u;
            picture[y][x] = (float)(state >> 8) / 16777216.0f;
        }
}

static void blur(void) {
    for (int y = 1; y < kHeight - 1; ++y)
        for (int x = 1; x < kWidth - 1; ++x) {
            float sum = 0;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx)
                    sum += picture[y + dy][x + dx];
            blurred[y][x] = sum / 9.0f;
        }
}

static float spread(void) {
    float least = INFINITY, most = -INFINITY, sum = 0;
    for (int y = 1; y < kHeight - 1; ++y)
        for (int x = 1; x < kWidth - 1; ++x) {
            const float value = blurred[y][x];
            least = value < least ? value : least;
            most = value > most ? value : most;
            sum += value * value;
        }
    return (most - least) + sqrtf(sum / (kWidth * kHeight));
}

static void sharpen(float amount) {
    for (int y = 1; y < kHeight - 1; ++y)
        for (int x = 1; x < kWidth - 1; ++x)
            picture[y][x] += amount * (picture[y][x] - blurred[y][x]);
}

int main(void) {
    float checksum = 0;
    fill();
    for (int round = 0; round < kRounds; ++round) {
        blur();
        checksum += spread();
        sharpen(0.01f);
    }
    printf("checksum %.4f\n", (double)checksum);
    return 0;
}
