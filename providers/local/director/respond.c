/* SPDX-License-Identifier: Apache-2.0 */
/* respond.c: answers ARP for announced addresses on links where the kernel does not.
 *
 * An address of IPv4 is held by a route, or by an address on lo; with arp_ignore the kernel answers
 * for addresses of the asking link alone.  Each link on which one was announced is looked at every
 * ten seconds. */
#include "providers/local/director/director_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY_MS 10000

/* As the kernel reads net.ipv4.conf.{all,LINK}.arp_ignore: the greater one counts, and 4 to 7 mean
 * nothing. */
static bool kernel_answers(int64_t all, int64_t own)
{
    int64_t level = all > own ? all : own;

    return level <= 0 || (level >= 4 && level <= 7) || level > 8;
}

static int64_t arp_ignore(struct local_director *d, const char *link)
{
    struct err ignored = ERR_INIT; /* a kernel without it ignores nothing */
    int64_t value = 0;
    char name[64];

    int n = snprintf(name, sizeof name, "net.ipv4.conf.%s.arp_ignore", link);
    for (char *c = name + strlen("net.ipv4.conf."); n > 0 && *c != '\0'; c++) {
        /* a dot in the name of a link is a slash in that of a sysctl */
        *c = *c == '.' && strcmp(c, ".arp_ignore") != 0 ? '/' : *c;
    }
    (void)d->args.kernel->ops->sysctl_read(d->args.kernel, name, &value, &ignored);
    return value;
}

static const struct local_link *link_of(const struct local_director *d, int index)
{
    for (size_t i = 0; i < d->n_links; i++) {
        if (d->links[i].index == index) {
            return &d->links[i];
        }
    }
    return NULL;
}

void local_responses_on(struct local_director *d, int link)
{
    for (size_t i = 0; i < d->n_answering; i++) {
        if (d->answering[i].link == link) {
            return;
        }
    }
    d->answering = xrealloc(d->answering, (d->n_answering + 1) * sizeof *d->answering);
    d->answering[d->n_answering++] = (struct director_answering){.link = link};
    d->answering_look_ms = 0;
}

static void look(struct local_director *d)
{
    int64_t all = arp_ignore(d, "all");

    for (size_t i = 0; i < d->n_answering; i++) {
        struct director_answering *x = &d->answering[i];
        const struct local_link *link = link_of(d, x->link);
        struct err ignored = ERR_INIT;
        bool was = x->on;
        x->on = link != NULL && !kernel_answers(all, arp_ignore(d, link->name));
        if (was && !x->on && link != NULL) {
            (void)d->args.kernel->ops->respond(d->args.kernel, link, NULL, NULL, NULL, &ignored);
        }
    }
}

struct asked {
    struct local_director *d;
    int link;
    bool up;
};

static bool is_mine(void *arg, const struct ip_addr *addr)
{
    const struct asked *q = arg;

    return q->up && local_announcements_has(q->d, addr, q->link);
}

static void respond(struct local_director *d, struct director_answering *x)
{
    const struct local_link *link = link_of(d, x->link);
    struct asked q = {d, x->link, link != NULL && link->up};
    struct err err = ERR_INIT;
    unsigned n = 0;

    if (link == NULL) {
        return;
    }
    int rc = d->args.kernel->ops->respond(d->args.kernel, link, is_mine, &q, &n, &err);
    local_director_count(d, "local_announcements_total", "answer", NULL, n);
    if (rc != ERR_OK && !x->told) {
        const struct local_news head = {.warning = true};
        local_director_note(d, &head, "ARP is not answered on %s: %s", link->name, err.message);
    }
    x->told = rc != ERR_OK;
}

int64_t local_responses_turn(struct local_director *d, int64_t now_ms)
{
    if (d->n_answering == 0) {
        return INT64_MAX;
    }
    if (now_ms >= d->answering_look_ms) {
        d->answering_look_ms = now_ms + LOOK_EVERY_MS;
        look(d);
    }
    for (size_t i = 0; i < d->n_answering; i++) {
        if (d->answering[i].on) {
            respond(d, &d->answering[i]);
        }
    }
    return d->answering_look_ms;
}
