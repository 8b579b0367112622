/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_ipvs.c: IPVS of the kernel in memory (fake_kernel_ipvs.h). */
#include "tests/support/fake_kernel_ipvs.h"

#include "common/base/str.h"
#include "tests/support/fake_kernel.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_service {
    struct local_ipvs_service s;
    struct local_ipvs_dest *dests; /* sorted */
    size_t n;
    struct local_ipvs_traffic counted;
};
struct fake_ipvs {
    struct fake_service *services; /* sorted */
    size_t n;
    uint64_t requests;
    int no_ipvs; /* ERR_INVALID, ERR_AUTH: all calls say that */
    char no_scheduler[LOCAL_IPVS_SCHEDULER_MAX];
    struct local_ipvs_daemon daemons[LOCAL_IPVS_DAEMONS]; /* master, backup */
    bool runs[LOCAL_IPVS_DAEMONS];
};

struct fake_ipvs *fake_ipvs_new(void)
{
    return xcalloc(1, sizeof(struct fake_ipvs));
}

void fake_ipvs_free(struct fake_ipvs *x)
{
    for (size_t i = 0; i < x->n; i++) {
        free(x->services[i].dests);
    }
    free(x->services);
    free(x);
}

static int look(const struct fake_ipvs *x, struct err *err)
{
    const struct local_ipvs_change none = {.what = LOCAL_IPVS_SET_DEST};
    if (x->no_ipvs == ERR_INVALID) {
        return err_set(err, ERR_INVALID, LOCAL_IPVS_NONE);
    }
    return x->no_ipvs == ERR_OK ? ERR_OK : local_ipvs_said(&none, EPERM, err);
}

/* --- what is there ---------------------------------------------------------------------------- */

static size_t place(const struct fake_ipvs *x, const struct local_frontend_id *id)
{
    size_t i = 0;
    while (i < x->n && local_frontend_cmp(&x->services[i].s.id, id) < 0) {
        i++;
    }
    return i;
}

static struct fake_service *find(const struct fake_ipvs *x, const struct local_frontend_id *id)
{
    size_t i = place(x, id);
    return i < x->n && local_frontend_cmp(&x->services[i].s.id, id) == 0 ? &x->services[i] : NULL;
}

static int dest_cmp(const struct local_ipvs_dest *a, const struct local_ipvs_dest *b)
{
    int diff = local_addr_cmp(&a->addr, &b->addr);
    return diff != 0 ? diff : (int)a->port - (int)b->port;
}

static size_t dest_place(const struct fake_service *s, const struct local_ipvs_dest *d)
{
    size_t i = 0;
    while (i < s->n && dest_cmp(&s->dests[i], d) < 0) {
        i++;
    }
    return i;
}

static int services(const struct fake_ipvs *x, struct arena *a, struct local_ipvs_service **ret,
                    size_t *ret_n, struct err *err)
{
    int code = look(x, err);
    *ret = ARENA_ARRAY(a, struct local_ipvs_service, x->n + 1);
    for (size_t i = 0; i < x->n; i++) {
        (*ret)[i] = x->services[i].s;
    }
    *ret_n = x->n;
    return code;
}

static int read_one(const struct fake_ipvs *x, struct arena *a, struct local_ipvs_list *ret,
                    struct err *err)
{
    int code = look(x, err);
    const struct fake_service *s = find(x, &ret->service.id);
    ret->there = code == ERR_OK && s != NULL;
    ret->n_dests = 0;
    if (ret->there) {
        ret->service = s->s;
        ret->n_dests = s->n;
        ret->dests = s->n == 0 ? NULL : arena_memdup(a, s->dests, s->n * sizeof(*s->dests));
    }
    return code;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void remove_service(struct fake_ipvs *x, struct fake_service *s)
{
    size_t i = (size_t)(s - x->services);
    free(s->dests);
    memmove(s, s + 1, (--x->n - i) * sizeof(*s));
}

static void insert_service(struct fake_ipvs *x, const struct local_ipvs_service *s)
{
    size_t i = place(x, &s->id);
    x->services = xrealloc(x->services, (x->n + 1) * sizeof(*x->services));
    memmove(&x->services[i + 1], &x->services[i], (x->n++ - i) * sizeof(*x->services));
    x->services[i] = (struct fake_service){.s = *s};
}

static bool has_scheduler(const struct fake_ipvs *x, const char *name)
{
    static const char *const names[] = {"rr", "wrr", "lc", "wlc", "sh", "mh", "dh", "sed", "nq"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return strcmp(name, x->no_scheduler) != 0;
        }
    }
    return false;
}

static int change_service(struct fake_ipvs *x, const struct local_ipvs_change *c)
{
    struct fake_service *s = find(x, &c->service.id);
    bool add = c->what == LOCAL_IPVS_ADD_SERVICE;
    if (add != (s == NULL)) {
        return add ? EEXIST : ESRCH;
    }
    if (c->what == LOCAL_IPVS_DEL_SERVICE) {
        remove_service(x, s);
        return 0;
    }
    if (!has_scheduler(x, c->service.scheduler)) {
        return ENOENT;
    }
    if (add) {
        insert_service(x, &c->service);
    } else {
        s->s = c->service;
    }
    return 0;
}

static int change_dest(struct fake_ipvs *x, const struct local_ipvs_change *c)
{
    struct fake_service *s = find(x, &c->service.id);
    bool add = c->what == LOCAL_IPVS_ADD_DEST;
    if (s == NULL) {
        return ESRCH;
    }
    size_t i = dest_place(s, &c->dest);
    bool there = i < s->n && dest_cmp(&s->dests[i], &c->dest) == 0;
    if (add == there) {
        return add ? EEXIST : ENOENT;
    }
    if (c->what == LOCAL_IPVS_DEL_DEST) {
        memmove(&s->dests[i], &s->dests[i + 1], (--s->n - i) * sizeof(*s->dests));
        return 0;
    }
    uint32_t active = add ? 0 : s->dests[i].active;
    if (add) {
        s->dests = xrealloc(s->dests, (s->n + 1) * sizeof(*s->dests));
        memmove(&s->dests[i + 1], &s->dests[i], (s->n++ - i) * sizeof(*s->dests));
    }
    s->dests[i] = c->dest;
    s->dests[i].active = active;
    return 0;
}

static int change(struct fake_ipvs *x, const struct local_ipvs_change *c, struct err *err)
{
    int code = look(x, err);
    code = code == ERR_OK ? local_ipvs_check(c, err) : code;
    if (code != ERR_OK) {
        return code;
    }
    return local_ipvs_said(
        c, c->what < LOCAL_IPVS_ADD_DEST ? change_service(x, c) : change_dest(x, c), err);
}

/* --- the functions of kernel.h ---------------------------------------------------------------- */

uint64_t fake_ipvs_requests(const struct fake_ipvs *x)
{
    return x->requests;
}

static int step(struct local_kernel *k, struct err *err)
{
    return fake_kernel_step(k, &fake_kernel_ipvs(k)->requests, err);
}

int fake_ipvs_look(struct local_kernel *k, struct err *err)
{
    int code = step(k, err);
    return code == ERR_OK ? fake_kernel_done(k, look(fake_kernel_ipvs(k), err), err) : code;
}

int fake_ipvs_services(struct local_kernel *k, struct arena *a, struct local_ipvs_service **ret,
                       size_t *ret_n, struct err *err)
{
    int code = step(k, err);
    code = code == ERR_OK ? services(fake_kernel_ipvs(k), a, ret, ret_n, err) : code;
    return code == ERR_OK ? fake_kernel_done(k, code, err) : code;
}

int fake_ipvs_read(struct local_kernel *k, struct arena *a, struct local_ipvs_list *ret,
                   struct err *err)
{
    int code = step(k, err);
    code = code == ERR_OK ? read_one(fake_kernel_ipvs(k), a, ret, err) : code;
    return code == ERR_OK ? fake_kernel_done(k, code, err) : code;
}

int fake_ipvs_traffic(struct local_kernel *k, struct arena *a, struct local_ipvs_traffic **ret,
                      size_t *ret_n, struct err *err)
{
    const struct fake_ipvs *x = fake_kernel_ipvs(k);
    int code = step(k, err);
    code = code == ERR_OK ? look(x, err) : code;
    *ret = ARENA_ARRAY(a, struct local_ipvs_traffic, x->n + 1);
    *ret_n = code == ERR_OK ? x->n : 0;
    for (size_t i = 0; i < *ret_n; i++) {
        (*ret)[i] = x->services[x->n - 1 - i].counted; /* in no order */
        (*ret)[i].id = x->services[x->n - 1 - i].s.id;
    }
    return code == ERR_OK ? fake_kernel_done(k, code, err) : code;
}

void fake_kernel_traffic(struct local_kernel *k, const struct local_ipvs_traffic *t)
{
    struct fake_service *s = find(fake_kernel_ipvs(k), &t->id);
    if (s != NULL) {
        s->counted = *t;
    }
}

/* Each change is a step. */
int fake_ipvs_change(struct local_kernel *k, const struct local_ipvs_change *changes, size_t n,
                     int *ret_codes, struct err *err)
{
    unsigned before = fake_kernel_steps(k);
    int first = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        struct err later = ERR_INIT;
        struct err *e = first == ERR_OK ? err : &later;
        ret_codes[i] = step(k, e);
        if (ret_codes[i] == ERR_OK) {
            ret_codes[i] = fake_kernel_done(k, change(fake_kernel_ipvs(k), &changes[i], e), e);
        }
        first = first == ERR_OK ? ret_codes[i] : first;
    }
    for (size_t i = 0; fake_kernel_overran(k, before) && i < n; i++) {
        ret_codes[i] = ERR_TRANSIENT;
    }
    return first;
}

int fake_ipvs_daemons(struct local_kernel *k, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                      size_t *ret_n, struct err *err)
{
    const struct fake_ipvs *x = fake_kernel_ipvs(k);
    int code = step(k, err);
    code = code == ERR_OK ? look(x, err) : code;
    *ret_n = 0;
    for (int i = 0; code == ERR_OK && i < LOCAL_IPVS_DAEMONS; i++) {
        if (x->runs[i]) {
            ret[(*ret_n)++] = x->daemons[i];
        }
    }
    return code == ERR_OK ? fake_kernel_done(k, code, err) : code;
}

static int change_daemon(struct fake_ipvs *x, bool stop, const struct local_ipvs_daemon *d,
                         struct err *err)
{
    int code = look(x, err);
    if (code != ERR_OK) {
        return code;
    }
    if (!stop && strcmp(d->interface, "lo") != 0 && strcmp(d->interface, "eth0") != 0) {
        return err_set(err, ERR_INVALID, "there is no interface %s", d->interface);
    }
    if (x->runs[d->backup] != stop) {
        return err_set(err, ERR_CONFLICT, "another program changed the daemons of IPVS");
    }
    x->runs[d->backup] = !stop;
    x->daemons[d->backup] = *d;
    return ERR_OK;
}

int fake_ipvs_daemon_change(struct local_kernel *k, bool stop, const struct local_ipvs_daemon *d,
                            struct err *err)
{
    int code = step(k, err);
    code = code == ERR_OK ? change_daemon(fake_kernel_ipvs(k), stop, d, err) : code;
    return code == ERR_OK ? fake_kernel_done(k, code, err) : code;
}

/* --- the world around ------------------------------------------------------------------------- */

void fake_kernel_no_ipvs(struct local_kernel *k, int code)
{
    fake_kernel_ipvs(k)->no_ipvs = code;
}

void fake_kernel_no_scheduler(struct local_kernel *k, const char *name)
{
    struct fake_ipvs *x = fake_kernel_ipvs(k);
    (void)snprintf(x->no_scheduler, sizeof(x->no_scheduler), "%s", name);
}

void fake_kernel_foreign_ipvs(struct local_kernel *k, const struct local_ipvs_change *c)
{
    struct err err = ERR_INIT;
    if (change(fake_kernel_ipvs(k), c, &err) != ERR_OK) {
        fprintf(stderr, "fake_kernel_foreign_ipvs: %s\n", err.message);
        abort();
    }
}

void fake_kernel_active(struct local_kernel *k, const struct local_frontend_id *id,
                        const struct ip_addr *dest, uint32_t n)
{
    struct fake_service *s = find(fake_kernel_ipvs(k), id);
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        if (ip_eq(&s->dests[i].addr, dest)) {
            s->dests[i].active = n;
        }
    }
}

void fake_kernel_virtual(const struct local_kernel *k,
                         void (*each)(void *arg, const struct local_ipvs_list *l), void *arg)
{
    const struct fake_ipvs *x = fake_kernel_ipvs(k);
    for (size_t i = 0; i < x->n; i++) {
        const struct local_ipvs_list l = {.service = x->services[i].s,
                                          .there = true,
                                          .dests = x->services[i].dests,
                                          .n_dests = x->services[i].n};
        each(arg, &l);
    }
}

static const char *at(struct arena *a, const struct ip_addr *addr, unsigned port)
{
    char text[IP_TEXT_MAX];
    ip_format(addr, text);
    return arena_printf(a, addr->len == 16 ? "[%s]:%u" : "%s:%u", text, port);
}

static void say_flags(struct str_buf *b, const struct local_ipvs_service *s)
{
    bool fallback = (s->flags & LOCAL_IPVS_FALLBACK) != 0, port = (s->flags & LOCAL_IPVS_PORT) != 0;
    if ((s->flags & LOCAL_IPVS_PERSISTENT) != 0) {
        str_appendf(b, " -p %u", (unsigned)s->timeout_s);
    }
    if ((s->flags & LOCAL_IPVS_ONE_PACKET) != 0) {
        str_append(b, " -o");
    }
    if (fallback || port) {
        str_appendf(b, " -b %s%s%s%s%s", fallback ? s->scheduler : "", fallback ? "-fallback" : "",
                    fallback && port ? "," : "", port ? s->scheduler : "", port ? "-port" : "");
    }
}

static void say_dest(struct str_buf *b, const struct local_ipvs_dest *d)
{
    static const char *const tunnels[] = {"ipip", "gue", "gre"};
    str_appendf(b, " %s -w %u",
                d->method == LOCAL_IPVS_DR       ? "-g"
                : d->method == LOCAL_IPVS_TUNNEL ? "-i"
                                                 : "-m",
                (unsigned)d->weight);
    if (d->method != LOCAL_IPVS_TUNNEL) {
        return;
    }
    str_appendf(b, " --tun-type %s", tunnels[d->tunnel]);
    if (d->tunnel == LOCAL_TUNNEL_GUE) {
        str_appendf(b, " --tun-port %u", (unsigned)d->tunnel_port);
    }
    if (d->tunnel != LOCAL_TUNNEL_IPIP) {
        str_append(b, " --tun-nocsum");
    }
}

const char *fake_kernel_ipvsadm(const struct local_kernel *k, struct arena *a)
{
    const struct fake_ipvs *x = fake_kernel_ipvs(k);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < x->n; i++) {
        const struct local_ipvs_service *s = &x->services[i].s;
        const char *where = arena_printf(a, "%s %s", s->id.protocol == IPPROTO_TCP ? "-t" : "-u",
                                         at(a, &s->id.vip, s->id.port));
        str_appendf(&b, "-A %s -s %s", where, s->scheduler);
        say_flags(&b, s);
        str_append(&b, "\n");
        for (size_t j = 0; j < x->services[i].n; j++) {
            const struct local_ipvs_dest *d = &x->services[i].dests[j];
            str_appendf(&b, "-a %s -r %s", where, at(a, &d->addr, d->port));
            say_dest(&b, d);
            str_append(&b, "\n");
        }
    }
    return str_buf_to_arena(&b, a);
}
