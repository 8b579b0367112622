/* SPDX-License-Identifier: Apache-2.0 */
/* gce_firewalls.c: which clients the firewall rules of a network let through to a machine.
 *
 * Rules for ingress apply by priority, the lower number first, and at one priority those that deny
 * before those that allow; the first that matches decides; what none matches is denied.  A rule
 * matches a packet by its network, source, destination, protocol and port, and the machine by tags
 * or service accounts.  Sources are ranges, tags and accounts, of which one must match; without any
 * they are all of IPv4.  Without destinations a rule is about every one.
 * Source: the documentation of VPC firewall rules; gce-cloud-provider.md §4.6,
 * §4.13; gce-l4.md §4.8, §5.7. */
#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "sim/reach/gce.h"

#define PRESET_PRIORITY 1000
#define NO_PROTOCOL     (-2) /* one that no forwarding rule forwards */

/* A protocol and ports of it. */
struct traffic {
    int protocol; /* number, or GCE_ANY */
    bool all_ports;
    int low, high;
};

struct gce_firewall {
    const char *path;
    int64_t priority;
    bool denies;
    const char *network; /* interned */
    struct reach_ranges sources;
    struct reach_ranges destinations;    /* none: all */
    struct json_object *tags, *accounts; /* of the machines that it is about; both empty: all */
    struct traffic *traffic;
    size_t n_traffic;
    const struct gce_firewall *next; /* the next with the same single destination */
};

/* --- reading ---------------------------------------------------------------------------------- */

static int protocol_number(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"all", GCE_ANY}, {"tcp", 6}, {"udp", 17},  {"icmp", 1},
                 {"esp", 50},      {"ah", 51}, {"sctp", 132}};
    int64_t number;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_nocase(names[i].name, text)) {
            return names[i].number;
        }
    }
    return text != NULL && str_to_i64(text, &number) && number >= 0 && number <= 255 ? (int)number
                                                                                     : NO_PROTOCOL;
}

static void read_traffic(struct gce *g, struct gce_firewall *f, struct json_object *entries)
{
    size_t n = 0;
    for (size_t i = 0; i < json_len(entries); i++) {
        n += 1 + json_len(json_member(json_object_array_get_idx(entries, i), "ports"));
    }
    f->traffic = ARENA_ARRAY(g->a, struct traffic, n + 1);
    for (size_t i = 0; i < json_len(entries); i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        struct json_object *ports = json_member(entry, "ports");
        int protocol = protocol_number(json_str(entry, "IPProtocol"));
        if (json_len(ports) == 0) {
            f->traffic[f->n_traffic++] = (struct traffic){protocol, true, 0, GCE_PORT_LAST};
        }
        for (size_t k = 0; k < json_len(ports); k++) {
            const char *text = gce_text_at(ports, k);
            char *rest = NULL;
            int low = (int)strtol(text, &rest, 10);
            int high = *rest == '-' ? (int)strtol(rest + 1, NULL, 10) : low;
            f->traffic[f->n_traffic++] = (struct traffic){protocol, false, low, high};
        }
    }
}

/* Has the machine one of these service accounts? */
static bool has_account(const struct gce_machine *m, struct json_object *emails)
{
    struct json_object *accounts = json_member(m->body, "serviceAccounts");
    for (size_t i = 0; i < json_len(accounts); i++) {
        if (gce_has_text(emails, json_str(json_object_array_get_idx(accounts, i), "email"))) {
            return true;
        }
    }
    return false;
}

struct sender_search {
    struct gce *g;
    struct gce_firewall *f;
    struct json_object *tags, *accounts;
};

/* A machine is a source by its own address in the network. */
static bool add_sender(const char *path, void *value, void *arg)
{
    struct sender_search *s = arg;
    const struct gce_machine *m = value;
    (void)path;
    if (gce_have_common(s->tags, m->tags) || has_account(m, s->accounts)) {
        struct json_object *nics = json_member(m->body, "networkInterfaces");
        for (size_t i = 0; i < m->n_nics; i++) {
            struct json_object *nic = json_object_array_get_idx(nics, i);
            if (m->nics[i].network == s->f->network) {
                struct reach_ranges own =
                    reach_ranges_or(s->g->a, reach_ranges_of(s->g->a, json_str(nic, "networkIP")),
                                    reach_ranges_of(s->g->a, json_str(nic, "ipv6Address")));
                s->f->sources = reach_ranges_or(s->g->a, s->f->sources, own);
            }
        }
    }
    return true;
}

static void read_sources(struct gce *g, struct gce_firewall *f, struct json_object *body)
{
    struct json_object *ranges = json_member(body, "sourceRanges");
    struct sender_search s = {g, f, json_member(body, "sourceTags"),
                              json_member(body, "sourceServiceAccounts")};
    f->sources = reach_ranges_of_list(g->a, ranges);
    if (json_len(s.tags) > 0 || json_len(s.accounts) > 0) {
        map_each(g->machines, add_sender, &s);
    } else if (json_len(ranges) == 0) {
        f->sources = reach_ranges_all(g->a, true, false);
    }
}

static struct gce_firewall *read_firewall(struct gce *g, const char *path, struct json_object *body)
{
    struct gce_firewall *f = ARENA_NEW(g->a, struct gce_firewall);
    struct json_object *denied = json_member(body, "denied");
    const char *network = str_or(json_str(body, "network"), "global/networks/default");
    *f = (struct gce_firewall){
        .path = path,
        .priority = json_int(body, "priority", PRESET_PRIORITY),
        .denies = json_len(denied) > 0,
        .network = gce_path(g, network, path),
        .destinations = reach_ranges_of_list(g->a, json_member(body, "destinationRanges")),
        .tags = json_member(body, "targetTags"),
        .accounts = json_member(body, "targetServiceAccounts"),
    };
    read_traffic(g, f, f->denies ? denied : json_member(body, "allowed"));
    read_sources(g, f, body);
    return f;
}

static int compare_firewalls(const void *x, const void *y)
{
    const struct gce_firewall *p = *(const struct gce_firewall *const *)x;
    const struct gce_firewall *q = *(const struct gce_firewall *const *)y;
    if (p->priority != q->priority) {
        return p->priority < q->priority ? -1 : 1;
    }
    return p->denies != q->denies ? (int)q->denies - (int)p->denies : strcmp(p->path, q->path);
}

/* The one address that it is about, or NULL. */
static const char *pinned_to(struct gce *g, const struct gce_firewall *f)
{
    const struct reach_ranges *d = &f->destinations;
    return d->n == 1 && ip_eq(&d->at[0].first, &d->at[0].last)
               ? gce_address_text(g->a, &d->at[0].first)
               : NULL;
}

/* Files the sorted rules by destination, so that an address need not ask those of all others. */
static void file_firewalls(struct gce *g, struct gce_firewall **all, size_t n)
{
    g->wide.at = ARENA_ARRAY(g->a, const struct gce_firewall *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (pinned_to(g, all[i]) == NULL) {
            g->wide.at[g->wide.n++] = all[i];
        }
    }
    /* From behind, since each goes before its followers. */
    for (size_t i = n; i > 0; i--) {
        const char *pin = pinned_to(g, all[i - 1]);
        if (pin != NULL) {
            all[i - 1]->next = map_get(g->pinned, pin);
            map_set(g->pinned, pin, all[i - 1]);
        }
    }
}

void gce_firewalls_read(struct gce *g)
{
    size_t n = 0;
    struct gce_firewall **all = ARENA_ARRAY(g->a, struct gce_firewall *,
                                            (size_t)json_object_object_length(g->resources) + 1);
    json_object_object_foreach(g->resources, path, body)
    {
        if (gce_is(path, "firewalls") && !str_eq(json_str(body, "direction"), "EGRESS") &&
            !json_bool(body, "disabled", false)) {
            all[n++] = read_firewall(g, path, body);
        }
    }
    qsort(all, n, sizeof(all[0]), compare_firewalls);
    file_firewalls(g, all, n);
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool holds(struct reach_ranges x, const struct ip_addr *ip)
{
    for (size_t i = 0; i < x.n; i++) {
        if (x.at[i].first.len == ip->len && memcmp(x.at[i].first.bytes, ip->bytes, ip->len) <= 0 &&
            memcmp(ip->bytes, x.at[i].last.bytes, ip->len) <= 0) {
            return true;
        }
    }
    return false;
}

struct gce_firewalls gce_firewalls_to(struct gce *g, const struct ip_addr *to)
{
    const struct gce_firewall *first = map_get(g->pinned, gce_address_text(g->a, to));
    size_t n = g->wide.n;
    for (const struct gce_firewall *f = first; f != NULL; f = f->next) {
        n++;
    }
    struct gce_firewalls found = {ARENA_ARRAY(g->a, const struct gce_firewall *, n + 1), 0};
    for (size_t i = 0; i < g->wide.n; i++) {
        const struct gce_firewall *f = g->wide.at[i];
        for (; first != NULL && compare_firewalls(&first, &f) < 0; first = first->next) {
            found.at[found.n++] = first;
        }
        if (reach_ranges_empty(f->destinations) || holds(f->destinations, to)) {
            found.at[found.n++] = f;
        }
    }
    for (; first != NULL; first = first->next) {
        found.at[found.n++] = first;
    }
    return found;
}

static bool is_about(const struct gce_firewall *f, const struct gce_class *class)
{
    if (f->network != class->network) {
        return false;
    }
    return (json_len(f->tags) == 0 && json_len(f->accounts) == 0) ||
           gce_have_common(f->tags, class->machine->tags) ||
           has_account(class->machine, f->accounts);
}

static bool takes(const struct gce_firewall *f, const struct gce_packet *packet)
{
    for (size_t i = 0; i < f->n_traffic; i++) {
        const struct traffic *t = &f->traffic[i];
        if ((t->protocol == GCE_ANY || t->protocol == packet->protocol) &&
            (t->all_ports || (packet->port >= t->low && packet->port <= t->high))) {
            return true;
        }
    }
    return false;
}

struct reach_ranges gce_permitted(struct gce *g, struct gce_firewalls rules,
                                  const struct gce_class *class, const struct gce_packet *packet)
{
    struct reach_ranges permitted = REACH_NOBODY;
    struct reach_ranges rest = reach_ranges_all(g->a, !packet->ipv6, packet->ipv6);
    for (size_t i = 0; i < rules.n && !reach_ranges_empty(rest); i++) {
        const struct gce_firewall *f = rules.at[i];
        if (!takes(f, packet) || !is_about(f, class)) {
            continue;
        }
        if (!f->denies) {
            permitted = reach_ranges_or(g->a, permitted, reach_ranges_and(g->a, rest, f->sources));
        }
        rest = reach_ranges_minus(g->a, rest, f->sources);
    }
    return permitted;
}

void gce_firewall_cuts(struct gce_firewalls rules, int protocol, void (*fn)(void *arg, int port),
                       void *arg)
{
    for (size_t i = 0; i < rules.n; i++) {
        for (size_t k = 0; k < rules.at[i]->n_traffic; k++) {
            const struct traffic *t = &rules.at[i]->traffic[k];
            if (t->protocol == protocol && !t->all_ports) {
                fn(arg, t->low);
                fn(arg, t->high + 1);
            }
        }
    }
}
