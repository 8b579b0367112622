/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel.c: a kernel in memory behind the functions of kernel.h (fake_kernel.h).  Every
 * function that reaches a kernel begins with step() and ends with done(), where the faults are. */
#include "tests/support/fake_kernel.h"

#include "tests/support/fake_kernel_internal.h"
#include "tests/support/fake_kernel_ipvs.h"

#include <stdio.h>
#include <string.h>

#define KEY 128

/* --- faults ----------------------------------------------------------------------------------- */

static bool is_due(const struct fake_kernel *f, enum fake_kernel_fault fault)
{
    return f->plan.fault == fault && f->plan.step == f->steps;
}

static int step(struct local_kernel *k, uint64_t *requests, struct err *err)
{
    struct fake_kernel *f = fake(k);
    f->steps++;
    if (requests != NULL) {
        ++*requests;
    }
    if (f->watch != NULL) {
        f->watch(f->watch_arg, k);
    }
    if (is_due(f, FAKE_KERNEL_DIE_BEFORE)) {
        f->plan.die(f->plan.arg);
    }
    bool gone = f->plan.fault == FAKE_KERNEL_GONE && f->steps >= f->plan.step;
    if (gone || is_due(f, FAKE_KERNEL_REFUSE)) {
        return err_set(err, f->plan.code, "refused by a test");
    }
    return ERR_OK;
}

static int done(struct local_kernel *k, int code, struct err *err)
{
    struct fake_kernel *f = fake(k);
    if (f->watch != NULL) {
        f->watch(f->watch_arg, k);
    }
    if (is_due(f, FAKE_KERNEL_DIE_AFTER)) {
        f->plan.die(f->plan.arg);
    }
    if (code == ERR_OK && (is_due(f, FAKE_KERNEL_LOSE) || is_due(f, FAKE_KERNEL_OVERRUN))) {
        return err_set(err, ERR_TRANSIENT, "the kernel's answers are lost (ENOBUFS)");
    }
    return code;
}

int fake_kernel_step(struct local_kernel *k, uint64_t *requests, struct err *err)
{
    return step(k, requests, err);
}

int fake_kernel_done(struct local_kernel *k, int code, struct err *err)
{
    return done(k, code, err);
}

bool fake_kernel_overran(const struct local_kernel *k, unsigned since)
{
    const struct fake_kernel *f = fake(k);

    return f->plan.fault == FAKE_KERNEL_OVERRUN && f->plan.step > since && f->plan.step <= f->steps;
}

void fake_kernel_plan(struct local_kernel *k, const struct fake_kernel_plan *plan)
{
    fake(k)->plan = *plan;
    fake(k)->steps = 0;
}

unsigned fake_kernel_steps(const struct local_kernel *k)
{
    return fake(k)->steps;
}

void fake_kernel_watch(struct local_kernel *k, void (*each)(void *arg, struct local_kernel *k),
                       void *arg)
{
    fake(k)->watch = each;
    fake(k)->watch_arg = arg;
}

/* --- nftables --------------------------------------------------------------------------------- */

static struct fake_nft *table_of(const struct fake_kernel *f, const char *name)
{
    return f->table != NULL && strcmp(f->table_name, name) == 0 ? f->table : NULL;
}

static bool is_foreign(const struct fake_kernel *f, const char *name)
{
    return f->foreign_table != NULL && strcmp(f->foreign_table, name) == 0;
}

static void drop_table(struct fake_kernel *f)
{
    fake_nft_free(f->table);
    free(f->table_name);
    f->table = NULL;
    f->table_name = NULL;
}

static void make_rules(struct fake_kernel *f, const struct local_nft_table_args *args)
{
    f->rules_changed = false;
    f->closed_ports_drop = args->closed_ports_drop;
    f->mark_bit = args->mark_bit;
    f->routes_said = args->routes;
    f->generation++;
}

static void new_table(struct fake_kernel *f, const struct local_nft_table_args *args)
{
    f->table = fake_nft_new();
    f->table_name = xstrdup(args->instance);
    f->layout = LOCAL_NFT_LAYOUT;
    make_rules(f, args);
    fake_kernel_tell(f, LOCAL_EVENT_TABLE, NULL);
}

static int nft_make(struct local_kernel *k, const struct local_nft_table_args *args,
                    struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    if (f->table != NULL && f->left == NULL && strcmp(f->table_name, args->instance) != 0) {
        f->left = f->table;
        f->left_name = f->table_name;
        f->table = NULL;
        f->table_name = NULL;
    }
    if (f->table != NULL || is_foreign(f, args->instance)) {
        return done(
            k, err_set(err, ERR_CONFLICT, "another program changed table inet %s", args->instance),
            err);
    }
    new_table(f, args);
    return done(k, ERR_OK, err);
}

static int nft_remake(struct local_kernel *k, const struct local_nft_table_args *args,
                      const struct local_nft_change *adds, size_t n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    if (table_of(f, args->instance) == NULL) {
        return done(
            k, err_set(err, ERR_CONFLICT, "another program changed table inet %s", args->instance),
            err);
    }
    make_rules(f, args); /* no set was missing, so that elements are as they were */
    (void)adds;
    (void)n;
    fake_kernel_tell(f, LOCAL_EVENT_TABLE, NULL);
    return done(k, ERR_OK, err);
}

static int nft_check(struct local_kernel *k, const struct local_nft_table_args *args,
                     bool *ret_whole, struct local_rt_args *ret_routes, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    code = code == ERR_OK ? done(k, code, err) : code;
    if (code == ERR_OK) {
        *ret_whole = table_of(f, args->instance) != NULL && !f->rules_changed &&
                     f->closed_ports_drop == args->closed_ports_drop &&
                     f->mark_bit == args->mark_bit &&
                     f->routes_said.protocol == args->routes.protocol &&
                     f->routes_said.table == args->routes.table;
        *ret_routes = f->routes_said;
    }
    return code;
}

static int nft_look(struct local_kernel *k, const char *instance, struct local_nft_table *ret,
                    struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    if (code == ERR_OK) {
        bool ours = table_of(f, instance) != NULL;
        code = done(k, ERR_OK, err);
        if (code == ERR_OK) {
            *ret = (struct local_nft_table){.exists = ours || is_foreign(f, instance),
                                            .ours = ours,
                                            .layout = ours ? f->layout : 0,
                                            .generation = f->generation};
        }
    }
    return code;
}

static int nft_instances(struct local_kernel *k, struct arena *a, const char ***ret, size_t *ret_n,
                         struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    *ret = ARENA_ARRAY(a, const char *, 2);
    *ret_n = 0;
    if (f->table != NULL) {
        (*ret)[(*ret_n)++] = f->table_name;
    }
    if (f->left != NULL) {
        (*ret)[(*ret_n)++] = f->left_name;
    }
    return code == ERR_OK ? done(k, code, err) : code;
}

static int nft_commit(struct local_kernel *k, const char *instance,
                      const struct local_nft_change *changes, size_t n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    if (n == 0) {
        return ERR_OK;
    }
    int code = step(k, &f->nft_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    struct fake_nft *t = table_of(f, instance);
    code = t == NULL ? err_set(err, ERR_CONFLICT, "another program changed table inet %s", instance)
                     : fake_nft_commit(t, changes, n, err);
    f->generation += code == ERR_OK;
    if (code == ERR_OK) {
        fake_kernel_tell(f, LOCAL_EVENT_TABLE, NULL);
    }
    return done(k, code, err);
}

/* No step: nothing changes, and a process that ends here ends between two transactions. */
static int settle(struct local_kernel *k, struct err *err)
{
    fake(k)->settles++;
    return fake(k)->settle_code == ERR_OK
               ? ERR_OK
               : err_set(err, fake(k)->settle_code, "packets under way are not waited for");
}

unsigned fake_kernel_settles(struct local_kernel *k, int code)
{
    unsigned n = fake(k)->settles;

    fake(k)->settles = 0;
    fake(k)->settle_code = code;
    return n;
}

static int nft_list(struct local_kernel *k, const char *instance,
                    void (*each)(void *arg, const struct local_nft_element *e), void *arg,
                    struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    const struct fake_nft *t = table_of(f, instance);
    if (code != ERR_OK) {
        return code;
    }
    if (t == NULL) {
        return done(
            k, err_set(err, ERR_CONFLICT, "another program changed table inet %s", instance), err);
    }
    fake_nft_list(t, each, arg);
    return done(k, ERR_OK, err);
}

static int nft_read(struct local_kernel *k, const char *instance,
                    const struct local_frontend_id *id,
                    void (*each)(void *arg, const struct local_nft_element *e), void *arg,
                    struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    const struct fake_nft *t = table_of(f, instance);
    if (code != ERR_OK) {
        return code;
    }
    if (t != NULL) {
        fake_nft_read(t, id, each, arg);
    }
    return done(k, ERR_OK, err);
}

static int nft_remove(struct local_kernel *k, const char *instance, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->nft_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    if (table_of(f, instance) != NULL) {
        drop_table(f);
        f->generation++;
        fake_kernel_tell(f, LOCAL_EVENT_TABLE, NULL);
    }
    return done(k, ERR_OK, err);
}

/* --- links and addresses ---------------------------------------------------------------------- */

static int links(struct local_kernel *k, struct arena *a, struct local_link **ret, size_t *ret_n,
                 struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->rtnl_requests, err);
    code = code == ERR_OK ? done(k, code, err) : code;
    if (code == ERR_OK) {
        *ret = arena_memdup(a, f->links, f->n_links * sizeof(*f->links));
        *ret_n = f->n_links;
    }
    return code;
}

static int addrs(struct local_kernel *k, struct arena *a, struct local_link_addr **ret,
                 size_t *ret_n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->rtnl_requests, err);
    code = code == ERR_OK ? done(k, code, err) : code;
    if (code == ERR_OK) {
        *ret = f->n_addrs > 0 ? arena_memdup(a, f->addrs, f->n_addrs * sizeof(*f->addrs)) : NULL;
        *ret_n = f->n_addrs;
    }
    return code;
}

static size_t find_addr(const struct fake_kernel *f, int link, const struct ip_addr *addr)
{
    size_t i = 0;
    while (i < f->n_addrs && !(f->addrs[i].link == link && ip_eq(&f->addrs[i].net.addr, addr))) {
        i++;
    }
    return i;
}

static bool has_link(const struct fake_kernel *f, int link)
{
    for (size_t i = 0; i < f->n_links; i++) {
        if (f->links[i].index == link) {
            return true;
        }
    }
    return false;
}

static int addr_set(struct local_kernel *k, int link, const struct ip_addr *addr, int64_t valid_ms,
                    struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->rtnl_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    if (!has_link(f, link)) {
        return done(k, err_set(err, ERR_TRANSIENT, "No such device"), err);
    }
    size_t i = find_addr(f, link, addr);
    if (i == f->n_addrs) {
        f->addrs = xrealloc(f->addrs, ++f->n_addrs * sizeof(*f->addrs));
    }
    f->addrs[i] =
        (struct local_link_addr){.link = link,
                                 .net = {.addr = *addr, .prefix = (uint8_t)(8 * addr->len)},
                                 .valid_ms = valid_ms,
                                 .ours = true};
    return done(k, ERR_OK, err);
}

static int addr_del(struct local_kernel *k, int link, const struct ip_addr *addr, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, &f->rtnl_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    size_t i = find_addr(f, link, addr);
    if (i < f->n_addrs) {
        f->addrs[i] = f->addrs[--f->n_addrs];
        fake_kernel_tell(f, LOCAL_EVENT_HOLD, addr);
    }
    return done(k, ERR_OK, err);
}

static int addrs_change(struct local_kernel *k, const struct local_held_addr *items, size_t n,
                        int64_t valid_ms, int *ret_codes, struct err *err)
{
    int first = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        struct err one = ERR_INIT;
        ret_codes[i] = valid_ms == 0 ? addr_del(k, items[i].link, &items[i].addr, &one)
                                     : addr_set(k, items[i].link, &items[i].addr, valid_ms, &one);
        if (ret_codes[i] != ERR_OK && first == ERR_OK) {
            first = err_copy(err, &one);
        }
    }
    return first;
}

/* --- announcing, connections, sysctls --------------------------------------------------------- */

static int announce(struct local_kernel *k, const struct local_link *link,
                    const struct ip_addr *items, size_t n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = step(k, NULL, err);
    (void)link;
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        char key[IP_TEXT_MAX];
        ip_format(&items[i], key);
        unsigned *count = map_get(f->announced, key);
        if (count == NULL) {
            count = xcalloc(1, sizeof(*count));
            map_set(f->announced, key, count);
        }
        ++*count;
    }
    return code == ERR_OK ? done(k, code, err) : code;
}

static int probe_send(struct local_kernel *k, const struct local_link *link,
                      const struct ip_addr *addr, struct err *err)
{
    char key[IP_TEXT_MAX];
    int code = step(k, NULL, err);
    (void)link;
    if (code != ERR_OK) {
        return code;
    }
    ip_format(addr, key);
    map_set(fake(k)->probed, key, NULL);
    return done(k, ERR_OK, err);
}

static int probe_answer(struct local_kernel *k, const struct local_link *link,
                        const struct ip_addr *addr, struct local_probe_answer *ret, struct err *err)
{
    char key[IP_TEXT_MAX];
    (void)link;
    ip_format(addr, key);
    if (!map_has(fake(k)->probed, key)) {
        return err_set(err, ERR_BUG, "%s was not probed", key);
    }
    const uint8_t *mac = map_get(fake(k)->neighbours, key);
    *ret = (struct local_probe_answer){.answered = mac != NULL};
    if (mac != NULL) {
        memcpy(ret->mac, mac, sizeof(ret->mac));
    }
    return ERR_OK;
}

static int sysctl_read(struct local_kernel *k, const char *name, int64_t *ret, struct err *err)
{
    const int64_t *value = map_get(fake(k)->sysctls, name);
    if (value == NULL) {
        return err_set(err, ERR_NOT_FOUND, "this kernel has no sysctl %s", name);
    }
    *ret = *value;
    return ERR_OK;
}

static int sysctl_write(struct local_kernel *k, const char *name, int64_t value, struct err *err)
{
    int64_t *there = map_get(fake(k)->sysctls, name);
    int code = step(k, NULL, err);
    if (code != ERR_OK) {
        return code;
    }
    if (there == NULL) {
        return err_set(err, ERR_NOT_FOUND, "this kernel has no sysctl %s", name);
    }
    *there = value;
    return done(k, ERR_OK, err);
}

static uint64_t requests(const struct local_kernel *k, const char *api)
{
    const struct fake_kernel *f = fake(k);
    if (strcmp(api, "nft") == 0) {
        return f->nft_requests;
    }
    if (strcmp(api, "rtnl") == 0) {
        return f->rtnl_requests;
    }
    return strcmp(api, "ct") == 0     ? f->ct_requests
           : strcmp(api, "ipvs") == 0 ? fake_ipvs_requests(f->ipvs)
                                      : 0;
}

static int kube_proxy(struct local_kernel *k, const char **ret, struct err *err)
{
    int code = step(k, &fake(k)->nft_requests, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = fake(k)->kube_proxy;
    return fake_kernel_done(k, ERR_OK, err);
}

/* Calls of the table above are requests here; their requests are not distinguished. */
static void counts(const struct local_kernel *k,
                   void (*each)(void *arg, const struct local_kernel_count *c), void *arg)
{
    static const char *const apis[] = {"nft", "rtnl", "ct", "ipvs"};

    for (size_t i = 0; i < ARRAY_LEN(apis); i++) {
        const struct local_kernel_count c = {apis[i], "any", "ok", requests(k, apis[i])};
        if (c.n > 0) {
            each(arg, &c);
        }
    }
}

static void time_exchanges(struct local_kernel *k, local_kernel_took_fn *took, void *arg)
{
    (void)k; /* nothing takes time here */
    (void)took;
    (void)arg;
}

static void fake_free(struct local_kernel *k)
{
    struct fake_kernel *f = fake(k);
    drop_table(f);
    fake_nft_free(f->left);
    free(f->left_name);
    free(f->foreign_table);
    for (size_t i = 0; i < f->n_links; i++) {
        free((char *)f->links[i].name);
    }
    free(f->links);
    free(f->addrs);
    free(f->connections);
    free(f->events);
    map_free(f->routes);
    map_free(f->neighbours);
    map_free(f->probed);
    map_free(f->announced);
    map_free(f->sysctls);
    fake_ipvs_free(f->ipvs);
    free(f);
}

static const struct local_kernel_ops ops = {
    .nft_make = nft_make,
    .nft_remake = nft_remake,
    .nft_check = nft_check,
    .nft_look = nft_look,
    .nft_instances = nft_instances,
    .nft_commit = nft_commit,
    .nft_list = nft_list,
    .nft_read = nft_read,
    .nft_remove = nft_remove,
    .settle = settle,
    .links = links,
    .addrs = addrs,
    .addr_set = addr_set,
    .addr_del = addr_del,
    .addrs_change = addrs_change,
    .routes = fake_routes,
    .routes_change = fake_routes_change,
    .routes_adopt = fake_routes_adopt,
    .announce = announce,
    .probe_send = probe_send,
    .probe_answer = probe_answer,
    .neighbours = fake_neighbours,
    .hear = fake_hear,
    .respond = fake_respond,
    .ears = fake_ears,
    .connections_delete = fake_connections_delete,
    .sysctl_read = sysctl_read,
    .sysctl_write = sysctl_write,
    .ipvs_look = fake_ipvs_look,
    .ipvs_services = fake_ipvs_services,
    .ipvs_traffic = fake_ipvs_traffic,
    .ipvs_read = fake_ipvs_read,
    .ipvs_change = fake_ipvs_change,
    .watch = fake_watch,
    .heard = fake_heard,
    .watch_fds = fake_watch_fds,
    .ipvs_daemons = fake_ipvs_daemons,
    .ipvs_daemon_change = fake_ipvs_daemon_change,
    .requests = requests,
    .kube_proxy = kube_proxy,
    .counts = counts,
    .time_exchanges = time_exchanges,
    .free = fake_free,
};

/* --- the world around ------------------------------------------------------------------------- */

struct local_kernel *fake_kernel_new(const struct local_rt_args *args)
{
    static const char *const ones[] = {"net.ipv4.ip_forward",
                                       "net.ipv6.conf.all.forwarding",
                                       "net.ipv4.vs.conntrack",
                                       "net.ipv4.vs.expire_nodest_conn",
                                       "net.ipv4.vs.expire_quiescent_template",
                                       "net.ipv4.vs.conn_reuse_mode"};
    struct fake_kernel *f = xcalloc(1, sizeof(*f));
    f->rt = *args;
    f->k.ops = &ops;
    f->ipvs = fake_ipvs_new();
    f->routes = map_new(free);
    f->neighbours = map_new(free);
    f->probed = map_new(NULL);
    f->announced = map_new(free);
    f->sysctls = map_new(free);
    fake_kernel_link(&f->k,
                     &(struct local_link){.index = 1, .name = "lo", .up = true, .loopback = true});
    fake_kernel_link(
        &f->k,
        &(struct local_link){
            .index = 2, .name = "eth0", .up = true, .mac = {2, 0, 0, 0, 0, 2}, .ethernet = true});
    for (size_t i = 0; i < ARRAY_LEN(ones); i++) {
        fake_kernel_sysctl(&f->k, ones[i], 1);
    }
    return &f->k;
}
