// SPDX-License-Identifier: GPL-3.0-or-later
/* Deals the iterations of a phase out to threads that live as long as the pool. The caller works too.
 *
 * Every thread owns a contiguous share of the iterations, cut into a few chunks; who is done with his own
 * share helps the others, so that a thread that lost its processor delays the phase by one chunk at most, and
 * one that has not even woken up by nothing. Idle threads spin for some microseconds, so that the next phase
 * starts at once, then sleep on a futex. */
#ifndef TUNESMITH_THREAD_POOL_H
#define TUNESMITH_THREAD_POOL_H
#include "plan_tables.h"

enum { TS_MAX_THREADS = 256 };

typedef struct TsPool TsPool;

TsPool* ts_pool_create(int threads,
                       int* error); /* threads >= 2, the caller included; NULL: *error is an errno */
void ts_pool_destroy(TsPool* pool);
/* For one caller at a time. Returns when all iterations are done; their writes are visible to the caller. */
void ts_pool_run(TsPool* pool, TsPhaseFunction function, void** arguments, int64_t extent);

#endif
