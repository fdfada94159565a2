// SPDX-License-Identifier: GPL-3.0-or-later
/* Which x86-64 level the processor and the operating system offer: TS_ISA_V4, TS_ISA_V3 or TS_ISA_BASELINE.
 * The environment variable TUNESMITH_CPU_LIMIT=v3|baseline lowers the answer, to see what a program does on
 * an older machine. */
#ifndef TUNESMITH_CPU_CHECK_H
#define TUNESMITH_CPU_CHECK_H
#include <stdint.h>

int ts_cpu_level(void);
/* Whether it offers all that a module says it needs: a level and TS_ISA_AVX_VNNI or TS_ISA_AVX512_VNNI. */
int ts_cpu_runs(int64_t isa);

#endif
