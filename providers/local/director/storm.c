/* SPDX-License-Identifier: Apache-2.0 */
/* storm.c: when most checks fail at once, is it the targets, or is this director cut off?
 *
 * The gateway of the default route is asked by ARP.  As long as it does not answer, no verdict
 * becomes "down".  Without a default route there is no gateway to ask, and verdicts count. */
#include "providers/local/director/director_internal.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"

#define ASK_EVERY_MS 1000

bool local_gateway_read(const char *text, struct ip_addr *ret, char link[LOCAL_LINK_NAME_MAX])
{
    for (const char *line = strchr(text, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        unsigned to = 0;
        unsigned gateway = 0;
        unsigned flags = 0;
        if (sscanf(line + 1, "%15s %8x %8x %8x", link, &to, &gateway, &flags) == 4 && to == 0 &&
            gateway != 0 && (flags & 1u) != 0) {
            *ret = (struct ip_addr){.len = 4};
            memcpy(ret->bytes, &gateway, 4); /* in the order of the network already */
            return true;
        }
    }
    return false;
}

static const struct local_link *gateway(const struct local_director *d, struct ip_addr *ret)
{
    char name[LOCAL_LINK_NAME_MAX] = "";
    char text[4096];
    FILE *f = fopen("/proc/thread-self/net/route", "re");
    size_t n = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);

    if (f != NULL) {
        fclose(f);
    }
    text[n] = '\0';
    if (!local_gateway_read(text, ret, name)) {
        return NULL;
    }
    for (size_t i = 0; i < d->n_links; i++) {
        if (str_eq(d->links[i].name, name)) {
            return &d->links[i];
        }
    }
    return NULL;
}

/* Was the question of a second ago answered? */
static bool answered(struct local_director *d)
{
    struct local_probe_answer answer = {0};
    struct err ignored = ERR_INIT;
    struct ip_addr addr;
    const struct local_link *link = gateway(d, &addr);

    return link == NULL || (d->args.kernel->ops->probe_answer(d->args.kernel, link, &addr, &answer,
                                                              &ignored) == ERR_OK &&
                            answer.answered);
}

static void ask(struct local_director *d)
{
    struct err ignored = ERR_INIT;
    struct ip_addr addr;
    const struct local_link *link = gateway(d, &addr);

    if (link != NULL) {
        (void)d->args.kernel->ops->probe_send(d->args.kernel, link, &addr, &ignored);
    }
}

static void say(struct local_director *d, bool frozen)
{
    const struct local_news head = {.warning = frozen};

    if (frozen != d->frozen) {
        local_director_note(d, &head, "%s",
                            frozen ? "checks are frozen: this director seems cut off"
                                   : "checks count again");
    }
    d->frozen = frozen;
}

bool local_storm_turn(struct local_director *d, bool storm, int64_t now_ms)
{
    struct ip_addr addr;

    if (!storm || gateway(d, &addr) == NULL) {
        d->storm_asked_ms = 0;
        say(d, false);
        return false;
    }
    if (d->storm_asked_ms == 0) { /* until the first answer is due, no verdict */
        ask(d);
        d->storm_asked_ms = now_ms;
        d->gateway_answers = false;
    } else if (now_ms - d->storm_asked_ms >= ASK_EVERY_MS) {
        d->gateway_answers = answered(d);
        say(d, !d->gateway_answers);
        ask(d);
        d->storm_asked_ms = now_ms;
    }
    return !d->gateway_answers;
}
