/* SPDX-License-Identifier: Apache-2.0 */
/* no_threads.c: see no_threads.h.  New threads want a stack that no address space holds. */
#include "tests/support/no_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define HUGE_STACK ((size_t)1 << 46)

static size_t before;

static void must(int no)
{
    if (no != 0) {
        fprintf(stderr, "attributes of threads: error %d\n", no);
        abort();
    }
}

static void default_stack(size_t bytes)
{
    pthread_attr_t attr;
    must(pthread_attr_init(&attr));
    must(pthread_attr_setstacksize(&attr, bytes));
    must(pthread_setattr_default_np(&attr));
    must(pthread_attr_destroy(&attr));
}

void no_threads_begin(void)
{
    pthread_attr_t attr;
    must(pthread_getattr_default_np(&attr));
    must(pthread_attr_getstacksize(&attr, &before));
    must(pthread_attr_destroy(&attr));
    default_stack(HUGE_STACK);
}

void no_threads_end(void)
{
    default_stack(before);
}
