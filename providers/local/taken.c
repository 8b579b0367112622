/* SPDX-License-Identifier: Apache-2.0 */
/* taken.c: addresses for which others have a route: when such a one is tried again.  By the
 * provider's lock. */
#include "providers/local/provider.h"

#include <stdlib.h>

#define BACKOFF_MS INT64_C(10000)
#define WAIT_MAX   INT64_C(300000)

struct taken {
    int64_t until_ms;
    unsigned tries;
};

void local_taken_note(struct local_provider *p, const struct ip_addr *addr, struct err *err)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    struct taken *t = map_get(p->taken, text);
    if (t == NULL) {
        t = xcalloc(1, sizeof *t);
        map_set(p->taken, text, t);
    }
    int64_t wait_ms = t->tries < 6 ? BACKOFF_MS << t->tries : WAIT_MAX;
    t->tries++;
    wait_ms = wait_ms < WAIT_MAX ? wait_ms : WAIT_MAX;
    t->until_ms = clock_now_ms(p->clock) + wait_ms;
    (void)err_set(err, ERR_TRANSIENT, LOCAL_TAKEN_FORMAT, text);
    err->retry_after_ms = wait_ms;
}

void local_taken_free(struct local_provider *p, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    (void)map_remove(p->taken, text);
}

int local_taken_check(struct local_provider *p, const struct ip_addr *addr, struct err *err)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    const struct taken *t = map_get(p->taken, text);
    int64_t left_ms = t == NULL ? 0 : t->until_ms - clock_now_ms(p->clock);
    if (left_ms <= 0) {
        return ERR_OK;
    }
    (void)err_set(err, ERR_TRANSIENT, LOCAL_TAKEN_FORMAT, text);
    err->retry_after_ms = left_ms;
    return ERR_TRANSIENT;
}
