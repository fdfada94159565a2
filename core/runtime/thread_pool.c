// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE
#include "thread_pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS_PER_THREAD = 8, SPIN_NANOSECONDS = 50000, STACK_BYTES = 8 << 20 };

/* The chunks of one thread's share that nobody has taken yet: generation << 32 | end << 16 | next. With the
 * generation in the same word, a thread that looks at a share with an outdated idea of the phase cannot take
 * anything from it. */
typedef struct Share {
    _Alignas(64) _Atomic uint64_t ticket;
} Share;

typedef struct Worker {
    pthread_t thread;
    TsPool* pool;
    int index;
} Worker;

struct TsPool {
    _Alignas(64) _Atomic uint32_t generation; /* counts phases; the futex on which workers sleep */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    /* The phase. Written between phases only; atomic because a late worker may read what it then cannot use.
     */
    _Alignas(64) _Atomic(TsPhaseFunction) function;
    _Atomic(void**) arguments;
    _Atomic int64_t extent;
    _Atomic uint32_t chunks;
    _Alignas(64) _Atomic uint32_t done; /* chunks; the futex on which the caller sleeps */
    _Atomic uint32_t caller_sleeps;
    int threads, started;
    int64_t spin_nanoseconds;
    Worker* workers;
    Share shares[];
};

static void futex_wait(_Atomic uint32_t* word, uint32_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t* word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static int64_t now_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Waits a bounded time until *word is not `old` (when `until_equal`: until it is). */
static bool spin(_Atomic uint32_t* word, uint32_t value, bool until_equal, int64_t nanoseconds) {
    const int64_t end = now_nanoseconds() + nanoseconds;
    do {
        for (int i = 0; i < 16; ++i) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == until_equal)
                return true;
            __builtin_ia32_pause();
        }
    } while (now_nanoseconds() < end);
    return false;
}

static bool run_chunk(TsPool* pool, Share* share) {
    uint64_t ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
    for (;;) {
        const uint32_t next = ticket & 0xffff, end = (ticket >> 16) & 0xffff;
        if (next >= end)
            return false;
        const TsPhaseFunction function = atomic_load_explicit(&pool->function, memory_order_relaxed);
        void** const arguments = atomic_load_explicit(&pool->arguments, memory_order_relaxed);
        const int64_t extent = atomic_load_explicit(&pool->extent, memory_order_relaxed);
        const uint32_t chunks = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
        /* Success means that the phase of the ticket is still running, hence that what was just read belongs
         * to it. */
        if (!atomic_compare_exchange_weak_explicit(&share->ticket, &ticket, ticket + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        /* extent / chunks + remainder keeps the products small for any extent */
        const int64_t size = extent / chunks, rest = extent % chunks;
        const int64_t begin = size * next + rest * next / chunks;
        function(arguments, begin, size * (next + 1) + rest * (next + 1) / chunks);
        if (atomic_fetch_add_explicit(&pool->done, 1, memory_order_seq_cst) + 1 == chunks &&
            atomic_load_explicit(&pool->caller_sleeps, memory_order_seq_cst))
            futex_wake(&pool->done, 1);
        return true;
    }
}

static void work(TsPool* pool, int self) {
    for (int i = 0; i < pool->threads; ++i) {
        Share* share = &pool->shares[(self + i) % pool->threads];
        while (run_chunk(pool, share)) {
        }
    }
}

static void* worker_main(void* data) {
    Worker* worker = data;
    TsPool* pool = worker->pool;
    uint32_t seen = 0;
    for (;;) {
        if (!spin(&pool->generation, seen, false, pool->spin_nanoseconds)) {
            atomic_fetch_add_explicit(&pool->sleepers, 1, memory_order_seq_cst);
            while (atomic_load_explicit(&pool->generation, memory_order_seq_cst) == seen)
                futex_wait(&pool->generation, seen);
            atomic_fetch_sub_explicit(&pool->sleepers, 1, memory_order_seq_cst);
        }
        seen = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (atomic_load_explicit(&pool->stop, memory_order_acquire))
            return NULL;
        work(pool, worker->index);
    }
}

static void announce(TsPool* pool, int count) {
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&pool->sleepers, memory_order_seq_cst))
        futex_wake(&pool->generation, count);
}

static void wait_done(TsPool* pool, uint32_t chunks) {
    if (spin(&pool->done, chunks, true, pool->spin_nanoseconds))
        return;
    atomic_store_explicit(&pool->caller_sleeps, 1, memory_order_seq_cst);
    for (;;) {
        const uint32_t done = atomic_load_explicit(&pool->done, memory_order_seq_cst);
        if (done == chunks)
            break;
        futex_wait(&pool->done, done);
    }
    atomic_store_explicit(&pool->caller_sleeps, 0, memory_order_relaxed);
}

void ts_pool_run(TsPool* pool, TsPhaseFunction function, void** arguments, int64_t extent) {
    const int64_t most = (int64_t)pool->threads * CHUNKS_PER_THREAD;
    const uint32_t chunks = (uint32_t)(extent < most ? extent : most);
    if (chunks <= 1) {
        if (extent > 0)
            function(arguments, 0, extent);
        return;
    }
    atomic_store_explicit(&pool->function, function, memory_order_relaxed);
    atomic_store_explicit(&pool->arguments, arguments, memory_order_relaxed);
    atomic_store_explicit(&pool->extent, extent, memory_order_relaxed);
    atomic_store_explicit(&pool->chunks, chunks, memory_order_relaxed);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    const uint64_t generation = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1u;
    const uint32_t threads = (uint32_t)pool->threads;
    for (uint32_t i = 0; i < threads; ++i) {
        const uint64_t begin = chunks * i / threads, end = chunks * (i + 1) / threads;
        atomic_store_explicit(&pool->shares[i].ticket, generation << 32 | end << 16 | begin,
                              memory_order_release);
    }
    announce(pool, (int)chunks - 1);
    work(pool, 0);
    wait_done(pool, chunks);
}

static int start_worker(TsPool* pool, int index) {
    Worker* worker = &pool->workers[index - 1];
    worker->pool = pool;
    worker->index = index;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, old; /* the program's signals are not for our threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&worker->thread, &attributes, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static int usable_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

TsPool* ts_pool_create(int threads, int* error) {
    size_t size = sizeof(TsPool) + (size_t)threads * sizeof(Share);
    TsPool* pool = aligned_alloc(64, (size + 63) / 64 * 64);
    if (pool) {
        memset(pool, 0, size);
        pool->workers = calloc((size_t)threads - 1, sizeof(Worker));
    }
    if (!pool || !pool->workers) {
        free(pool);
        *error = ENOMEM;
        return NULL;
    }
    pool->threads = threads;
    /* Who spins without a processor of his own takes it from those who work. */
    pool->spin_nanoseconds = threads <= usable_processors() ? SPIN_NANOSECONDS : 0;
    *error = 0;
    for (pool->started = 1; pool->started < threads && *error == 0; pool->started += *error == 0)
        *error = start_worker(pool, pool->started);
    if (*error) {
        ts_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void ts_pool_destroy(TsPool* pool) {
    if (!pool)
        return;
    atomic_store_explicit(&pool->stop, 1, memory_order_seq_cst);
    announce(pool, INT_MAX);
    for (int i = 1; i < pool->started; ++i)
        pthread_join(pool->workers[i - 1].thread, NULL);
    free(pool->workers);
    free(pool);
}
