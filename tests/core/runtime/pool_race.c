// SPDX-License-Identifier: GPL-3.0-or-later
// Phases of many sizes that read what the phase before wrote, for the thread sanitizer: a missing order
// between chunks and phases is a data race on `values`.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "thread_pool.h"

enum { COUNT = 1000 };

static void step(void** arguments, int64_t begin, int64_t end) {
    const int64_t* from = arguments[0];
    int64_t* to = arguments[1];
    for (int64_t i = begin; i < end; ++i)
        to[i] = from[COUNT - 1 - i] + 1;
}

static int exercise(int threads) {
    int error = 0;
    TsPool* pool = ts_pool_create(threads, &error);
    if (!pool)
        return 1;
    static int64_t a[COUNT], b[COUNT];
    for (int i = 0; i < COUNT; ++i)
        a[i] = 0;
    enum { ROUNDS = 500 };
    for (int round = 0; round < ROUNDS; ++round) {
        void* there[] = {a, b};
        void* back[] = {b, a};
        ts_pool_run(pool, step, there, COUNT);
        if (round % 100 == 0) /* long enough that the workers fall asleep */
            nanosleep(&(struct timespec){0, 2000000}, NULL);
        ts_pool_run(pool, step, back, COUNT);
    }
    ts_pool_destroy(pool);
    for (int i = 0; i < COUNT; ++i)
        if (a[i] != 2 * ROUNDS)
            return 1;
    return 0;
}

int main(void) {
    for (int threads = 2; threads <= 5; ++threads)
        if (exercise(threads) != 0) {
            fprintf(stderr, "wrong values with %d threads\n", threads);
            return 1;
        }
    puts("done");
    return 0;
}
