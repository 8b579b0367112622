/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c: see ranges.h. */
#include "sim/reach/ranges.h"

#include <stdlib.h>
#include <string.h>

static int compare_ip(const struct ip_addr *x, const struct ip_addr *y)
{
    return x->len != y->len ? (int)x->len - (int)y->len : memcmp(x->bytes, y->bytes, x->len);
}

static int compare_range(const void *x, const void *y)
{
    const struct reach_range *p = x;
    const struct reach_range *q = y;
    return compare_ip(&p->first, &q->first);
}

/* The address behind (step 1) or before (step -1) this one; false if there is none. */
static bool neighbour(struct ip_addr *ip, int step)
{
    for (int i = ip->len - 1; i >= 0; i--) {
        ip->bytes[i] = (uint8_t)(ip->bytes[i] + step);
        if (ip->bytes[i] != (step > 0 ? 0x00 : 0xFF)) {
            return true;
        }
    }
    return false;
}

/* Does `next`, which begins no earlier, overlap or touch what ends at `last`? */
static bool touches(const struct ip_addr *last, const struct reach_range *next)
{
    struct ip_addr after = *last;
    return last->len == next->first.len &&
           (compare_ip(&next->first, last) <= 0 ||
            (neighbour(&after, 1) && compare_ip(&next->first, &after) == 0));
}

/* Sorts and joins `at`, which is changed. */
static struct reach_ranges normal(struct reach_range *at, size_t n)
{
    size_t kept = 0;
    if (n > 0) {
        qsort(at, n, sizeof(at[0]), compare_range);
        kept = 1;
    }
    for (size_t i = 1; i < n; i++) {
        struct reach_range *last = &at[kept - 1];
        if (!touches(&last->last, &at[i])) {
            at[kept++] = at[i];
        } else if (compare_ip(&at[i].last, &last->last) > 0) {
            last->last = at[i].last;
        }
    }
    return (struct reach_ranges){kept > 0 ? at : NULL, kept};
}

struct reach_ranges reach_ranges_all(struct arena *a, bool ipv4, bool ipv6)
{
    return reach_ranges_or(a, reach_ranges_of(a, ipv4 ? "0.0.0.0/0" : NULL),
                           reach_ranges_of(a, ipv6 ? "::/0" : NULL));
}

struct reach_ranges reach_ranges_of(struct arena *a, const char *text)
{
    struct reach_range *one = ARENA_NEW(a, struct reach_range);
    struct ip_net net;
    if (text == NULL) {
        return REACH_NOBODY;
    }
    if (ip_net_parse(text, &net)) {
        *one = (struct reach_range){net.addr, ip_net_last(&net)};
    } else if (ip_parse(text, &one->first)) {
        one->last = one->first;
    } else {
        return REACH_NOBODY;
    }
    return (struct reach_ranges){one, 1};
}

struct reach_ranges reach_ranges_of_list(struct arena *a, struct json_object *texts)
{
    struct reach_range *at = ARENA_ARRAY(a, struct reach_range, json_len(texts) + 1);
    size_t n = 0;
    for (size_t i = 0; i < json_len(texts); i++) {
        struct reach_ranges one =
            reach_ranges_of(a, json_object_get_string(json_object_array_get_idx(texts, i)));
        if (one.n > 0) {
            at[n++] = one.at[0];
        }
    }
    return normal(at, n);
}

struct reach_ranges reach_ranges_or(struct arena *a, struct reach_ranges x, struct reach_ranges y)
{
    struct reach_range *at = ARENA_ARRAY(a, struct reach_range, x.n + y.n + 1);
    for (size_t i = 0; i < x.n; i++) {
        at[i] = x.at[i];
    }
    for (size_t i = 0; i < y.n; i++) {
        at[x.n + i] = y.at[i];
    }
    return normal(at, x.n + y.n);
}

struct reach_ranges reach_ranges_and(struct arena *a, struct reach_ranges x, struct reach_ranges y)
{
    struct reach_range *at = ARENA_ARRAY(a, struct reach_range, x.n + y.n + 1);
    size_t n = 0;
    for (size_t i = 0, k = 0; i < x.n && k < y.n;) {
        const struct reach_range *p = &x.at[i];
        const struct reach_range *q = &y.at[k];
        struct reach_range both = {
            compare_ip(&p->first, &q->first) > 0 ? p->first : q->first,
            compare_ip(&p->last, &q->last) < 0 ? p->last : q->last,
        };
        if (compare_ip(&both.first, &both.last) <= 0) {
            at[n++] = both;
        }
        if (compare_ip(&p->last, &q->last) < 0) {
            i++;
        } else {
            k++;
        }
    }
    return normal(at, n);
}

struct reach_ranges reach_ranges_minus(struct arena *a, struct reach_ranges x,
                                       struct reach_ranges y)
{
    struct reach_range *at = ARENA_ARRAY(a, struct reach_range, x.n + y.n + 1);
    size_t n = 0;
    for (size_t i = 0, k = 0; i < x.n; i++) {
        struct reach_range rest = x.at[i];
        bool some = true;
        while (k < y.n && compare_ip(&y.at[k].last, &rest.first) < 0) {
            k++;
        }
        for (size_t j = k; some && j < y.n && compare_ip(&y.at[j].first, &rest.last) <= 0; j++) {
            if (compare_ip(&y.at[j].first, &rest.first) > 0) {
                at[n] = rest;
                at[n].last = y.at[j].first;
                (void)neighbour(&at[n++].last, -1);
            }
            some = compare_ip(&y.at[j].last, &rest.last) < 0;
            rest.first = y.at[j].last;
            (void)(some && neighbour(&rest.first, 1));
        }
        if (some) {
            at[n++] = rest;
        }
    }
    return normal(at, n);
}

struct reach_ranges reach_ranges_family(struct arena *a, struct reach_ranges x, bool ipv6)
{
    return reach_ranges_and(a, x, reach_ranges_all(a, !ipv6, ipv6));
}

bool reach_ranges_empty(struct reach_ranges x)
{
    return x.n == 0;
}

bool reach_ranges_equal(struct reach_ranges x, struct reach_ranges y)
{
    for (size_t i = 0; x.n == y.n && i < x.n; i++) {
        if (compare_ip(&x.at[i].first, &y.at[i].first) != 0 ||
            compare_ip(&x.at[i].last, &y.at[i].last) != 0) {
            return false;
        }
    }
    return x.n == y.n;
}

bool reach_ranges_within(struct arena *a, struct reach_ranges x, struct reach_ranges y)
{
    return reach_ranges_empty(reach_ranges_minus(a, x, y));
}

/* The largest network that begins at `first` and ends no later than `last`. */
static struct ip_net largest(const struct ip_addr *first, const struct ip_addr *last)
{
    struct ip_net found = {.addr = *first, .prefix = (uint8_t)(first->len * 8)};
    while (found.prefix > 0) {
        int bit = found.prefix - 1;
        struct ip_net wider = {.addr = *first, .prefix = (uint8_t)bit};
        struct ip_addr end = ip_net_last(&wider);
        if ((first->bytes[bit / 8] & (0x80 >> (bit % 8))) != 0 || compare_ip(&end, last) > 0) {
            break;
        }
        found = wider;
    }
    return found;
}

struct json_object *reach_ranges_json(struct reach_ranges x)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < x.n; i++) {
        struct ip_addr from = x.at[i].first;
        for (bool more = true; more;) {
            char text[IP_TEXT_MAX];
            struct ip_net net = largest(&from, &x.at[i].last);
            ip_net_format(&net, text);
            json_push_str(list, text);
            from = ip_net_last(&net);
            more = compare_ip(&from, &x.at[i].last) < 0 && neighbour(&from, 1);
        }
    }
    return list;
}
