/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: the whole file: its top level, its findings in order of lines, and the settings that
 * several sections share.
 *
 * The director is read first, wherever it stands, because pools begin with its settings.  Pure. */
#include "providers/local/model/config_internal.h"

#include "common/data/yaml.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS 86400000

enum local_mode local_mode_of(enum local_mode mode)
{
    return mode == LOCAL_MODE_AUTO ? LOCAL_MODE_NFT : mode;
}

int local_fits(enum local_mode mode, enum local_scheduler scheduler, enum local_targets targets,
               bool pods_routable, struct err *err)
{
    bool counts = scheduler == LOCAL_SCHED_LC || scheduler == LOCAL_SCHED_WLC;
    const char *word = local_mode_word(mode);
    if (mode == LOCAL_MODE_NFT && counts) {
        return err_set(err, ERR_INVALID,
                       "scheduler %s needs an ipvs mode; nft has rr, wrr, sh and mh",
                       local_scheduler_word(scheduler));
    }
    if (local_mode_keeps_vip(mode) &&
        (targets == LOCAL_TARGETS_POD || targets == LOCAL_TARGETS_NODE_PORT)) {
        return err_set(err, ERR_INVALID,
                       "targets %s has no meaning with %s, which forwards to nodes",
                       local_targets_words[targets], word);
    }
    if (!local_mode_keeps_vip(mode) && targets == LOCAL_TARGETS_NODE) {
        return err_set(err, ERR_INVALID,
                       "targets node has no meaning with %s, which forwards to node ports and pods",
                       word);
    }
    if (targets == LOCAL_TARGETS_POD && !pods_routable) {
        return err_set(err, ERR_INVALID,
                       "targets pod: the director does not reach pods (director.podsRoutable)");
    }
    return ERR_OK;
}

/* ---- reservations ---------------------------------------------------------------------------- */

/* One of them while it is read. */
struct reservation {
    const char *service;
    const struct local_range *ranges;
    size_t n_ranges;
};

static void read_addresses(struct local_cfg *c, const struct local_cfg_at *at,
                           const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct reservation *r = out;
    (void)f;
    r->ranges = local_cfg_ranges(c, at, v, &r->n_ranges, NULL);
}

static const struct local_cfg_field reservation_fields[] = {
    LOCAL_CFG_FIELD("service", local_cfg_text, struct reservation, service),
    {"addresses", read_addresses, 0, 0, 0, 0, NULL},
    {0},
};

/* The ranges of all pools, sorted. */
struct all_ranges {
    struct local_range *items;
    size_t n;
};

static int by_range(const void *x, const void *y)
{
    const struct local_range *a = x;
    const struct local_range *b = y;
    int d = local_addr_cmp(&a->first, &b->first);
    return d != 0 ? d : local_addr_cmp(&a->last, &b->last);
}

static struct all_ranges collect(struct local_cfg *c, const struct local_config *config)
{
    struct all_ranges all = {NULL, 0};
    size_t n = 0;
    for (size_t i = 0; i < config->n_pools; i++) {
        n += config->pools[i].n_ranges;
    }
    all.items = ARENA_ARRAY(c->a, struct local_range, n);
    for (size_t i = 0; i < config->n_pools; i++) {
        for (size_t k = 0; k < config->pools[i].n_ranges; k++) {
            all.items[all.n++] = config->pools[i].ranges[k];
        }
    }
    qsort(all.items, n, sizeof(*all.items), by_range);
    return all;
}

static bool is_key(const char *service)
{
    const char *slash = service == NULL ? NULL : strchr(service, '/');
    return slash != NULL && slash != service && slash[1] != '\0' && strchr(slash + 1, '/') == NULL;
}

static bool read_reservation(struct local_cfg *c, const struct local_cfg_at *at,
                             struct json_object *v, const struct all_ranges *all,
                             struct local_reservation *ret)
{
    struct reservation r = {0};
    size_t before = c->n + c->n_more;
    local_cfg_object(c, at, v, reservation_fields, &r);
    if (c->n + c->n_more > before) {
        return false;
    }
    if (!is_key(r.service)) {
        local_cfg_error(c, at, "reservation: service \"%.100s\" is not namespace/name",
                        str_nonnull(r.service));
        return false;
    }
    if (r.n_ranges == 0) {
        local_cfg_error(c, at, "reservation of %s has no addresses", r.service);
        return false;
    }
    struct ip_addr *addrs = ARENA_ARRAY(c->a, struct ip_addr, r.n_ranges);
    for (size_t i = 0; i < r.n_ranges; i++) {
        const char *text = local_range_text(c->a, &r.ranges[i]);
        addrs[i] = r.ranges[i].first;
        if (!ip_eq(&r.ranges[i].first, &r.ranges[i].last)) {
            local_cfg_error(c, at, "reservation of %s: %s is not a single address", r.service,
                            text);
        } else if (!local_ranges_cover(all->items, all->n, &r.ranges[i])) {
            local_cfg_error(c, at, "reservation of %s: %s is in no pool", r.service, text);
        }
    }
    *ret = (struct local_reservation){r.service, addrs, r.n_ranges};
    return true;
}

/* An address of a reservation. */
struct reserved {
    const struct ip_addr *addr;
    size_t index;
};

static int by_addr(const void *x, const void *y)
{
    const struct reserved *a = x;
    const struct reserved *b = y;
    int d = local_addr_cmp(a->addr, b->addr);
    return d != 0 ? d : a->index < b->index ? -1 : a->index > b->index;
}

static void check_reserved_twice(struct local_cfg *c, const struct local_cfg_at *list,
                                 const struct local_reservation *items, const size_t *index,
                                 size_t n)
{
    size_t total = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        total += items[i].n_addrs;
    }
    struct reserved *all = ARENA_ARRAY(c->a, struct reserved, total);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n_addrs; k++) {
            all[used++] = (struct reserved){&items[i].addrs[k], i};
        }
    }
    qsort(all, total, sizeof(*all), by_addr);
    for (size_t i = 1; i < total; i++) {
        if (local_addr_cmp(all[i - 1].addr, all[i].addr) == 0) {
            const struct local_cfg_at at = {list, NULL, index[all[i].index]};
            char addr[IP_TEXT_MAX];
            ip_format(all[i].addr, addr);
            local_cfg_error(c, &at, "%s is reserved for %s and %s", addr,
                            items[all[i - 1].index].service, items[all[i].index].service);
        }
    }
}

void local_cfg_reservations(struct local_cfg *c, struct json_object *v, struct local_config *config)
{
    const struct local_cfg_at at = {NULL, "reservations", 0};
    if (v == NULL) {
        return;
    }
    if (!json_object_is_type(v, json_type_array)) {
        local_cfg_error(c, &at, "reservations: want a list, got \"%.100s\"", local_cfg_shown(c, v));
        return;
    }
    size_t n = json_len(v);
    struct all_ranges all = collect(c, config);
    struct local_reservation *items = ARENA_ARRAY(c->a, struct local_reservation, n);
    size_t *index = ARENA_ARRAY(c->a, size_t, n); /* in the file */
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const struct local_cfg_at here = {&at, NULL, i};
        index[used] = i;
        used += read_reservation(c, &here, json_object_array_get_idx(v, i), &all, &items[used]);
    }
    check_reserved_twice(c, &at, items, index, used);
    config->reservations = items;
    config->n_reservations = used;
}

/* ---- top level ------------------------------------------------------------------------------- */

static void read_instance(struct local_cfg *c, const struct local_cfg_at *at,
                          const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = local_cfg_shown(c, v);
    size_t n = strlen(text);
    if (!json_object_is_type(v, json_type_string) || n == 0 || n > LOCAL_INSTANCE_MAX ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != n) {
        local_cfg_error(c, at,
                        "instance \"%.100s\": lower-case letters, digits and dashes, at most %d",
                        text, LOCAL_INSTANCE_MAX);
        return;
    }
    local_cfg_text(c, at, f, v, out);
}

const struct local_cfg_field local_cfg_top_fields[] = {
    {"apiVersion", NULL, 0, 0, 0, 0, NULL},
    LOCAL_CFG_WORD("role", struct local_config, role, local_role_words),
    LOCAL_CFG_FIELD("instance", read_instance, struct local_config, instance),
    LOCAL_CFG_FIELD("defaultClass", local_cfg_bool, struct local_config, default_class),
    {"pools", NULL, 0, 0, 0, 0, NULL},
    {"reservations", NULL, 0, 0, 0, 0, NULL},
    LOCAL_CFG_RANGE("reuseDelay", local_cfg_duration, struct local_config, reuse_delay_ms, 0,
                    DAY_MS),
    LOCAL_CFG_RANGE("releaseDelay", local_cfg_duration, struct local_config, release_delay_ms, 0,
                    300000),
    LOCAL_CFG_WORD("ipMode", struct local_config, ip_mode, local_ip_mode_words),
    {"director", NULL, 0, 0, 0, 0, NULL},
    {0},
};

static void check_ip_mode(struct local_cfg *c, const struct local_config *config)
{
    const struct local_cfg_at at = {NULL, "ipMode", 0};
    bool told[LOCAL_MODE_IPVS_TUNNEL + 1] = {false};
    if (config->ip_mode != LOCAL_IP_MODE_PROXY) {
        return;
    }
    for (size_t i = 0; i <= config->n_pools; i++) {
        enum local_mode mode =
            i < config->n_pools ? config->pools[i].serve.mode : config->director.serve.mode;
        if (local_mode_keeps_vip(mode) && !told[mode]) {
            told[mode] = true;
            local_cfg_error(c, &at,
                            "ipMode Proxy with mode %s: nodes would not accept packets for the "
                            "address",
                            local_mode_word(mode));
        }
    }
}

/* False: nothing else of the file can be read. */
static bool check_version(struct local_cfg *c, struct json_object *doc)
{
    const struct local_cfg_at at = {NULL, "apiVersion", 0};
    struct json_object *v = json_member(doc, "apiVersion");
    if (v == NULL) {
        local_cfg_error(c, NULL, "apiVersion is missing; this trimtab reads " LOCAL_API_VERSION);
        return doc != NULL && json_object_is_type(doc, json_type_object);
    }
    if (!str_eq(local_cfg_shown(c, v), LOCAL_API_VERSION)) {
        local_cfg_error(c, &at, "apiVersion is \"%.100s\"; this trimtab reads " LOCAL_API_VERSION,
                        local_cfg_shown(c, v));
        return false;
    }
    return true;
}

static void read_document(struct local_cfg *c, struct json_object *doc, struct local_config *config)
{
    if (!check_version(c, doc)) {
        return;
    }
    local_cfg_object(c, NULL, doc, local_cfg_top_fields, config);
    local_cfg_director(c, json_member(doc, "director"), &config->director);
    local_cfg_pools(c, json_member(doc, "pools"), config);
    local_cfg_reservations(c, json_member(doc, "reservations"), config);
    check_ip_mode(c, config);
}

/* "line 3: text" of common/data/yaml.h. */
static void yaml_error(struct local_cfg *c, const char *message)
{
    char *end = NULL;
    unsigned long line = 1;
    if (str_has_prefix(message, "line ")) {
        line = strtoul(message + strlen("line "), &end, 10);
        message = end != NULL && end[0] == ':' && end[1] == ' ' ? end + 2 : message;
    }
    local_cfg_error_line(c, line, "%s", message);
}

static void read_text(struct local_cfg *c, struct local_config *config)
{
    struct yaml_docs docs;
    struct err err = ERR_INIT;
    if (yaml_parse_lenient(c->a, c->text, c->text_len, &docs, &err) != ERR_OK) {
        yaml_error(c, err.message);
        return;
    }
    for (size_t i = 0; i < docs.n_twice; i++) {
        local_cfg_error_line(c, docs.twice[i].line, "key \"%.100s\" stands twice",
                             docs.twice[i].key);
    }
    if (docs.n > 1) {
        local_cfg_error_line(c, 1, "%zu documents; the configuration is one", docs.n);
    }
    read_document(c, docs.n > 0 ? docs.items[0] : NULL, config);
}

static void override_role(struct local_cfg *c, const char *role, struct local_config *config)
{
    int found = role == NULL ? -1 : local_word_find(local_role_words, role);
    if (found >= 0) {
        config->role = (enum local_role)found;
    } else if (role != NULL) {
        local_cfg_error_line(c, 0, "--local-role is \"%.100s\"; it can be %s", role,
                             local_words_text(c->a, local_role_words));
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

/* By line; of one line, in the order in which they were found. */
static void sort_findings(struct local_cfg *c)
{
    for (size_t i = 1; i < c->n; i++) {
        struct local_config_finding f = c->items[i];
        size_t k = i;
        for (; k > 0 && c->items[k - 1].line > f.line; k--) {
            c->items[k] = c->items[k - 1];
        }
        c->items[k] = f;
    }
}

static int first_error(struct local_cfg *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct local_config_finding *f = &c->items[i];
        if (f->is_error && f->line == 0) {
            return err_set(err, ERR_INVALID, "%s: %s", c->file, f->text);
        }
        if (f->is_error) {
            return err_set(err, ERR_INVALID, "%s:%zu: %s", c->file, f->line, f->text);
        }
    }
    return ERR_OK;
}

int local_config_read(struct arena *a, const char *file, const char *text, size_t n,
                      const char *role, const struct local_config **ret,
                      struct local_config_findings *ret_findings, struct err *err)
{
    struct local_cfg *c = ARENA_NEW(a, struct local_cfg);
    struct local_config *config = ARENA_NEW(a, struct local_config);
    c->a = a;
    c->file = file;
    c->text = text;
    c->text_len = n;
    config->instance = "trimtab";
    config->default_class = true;
    config->reuse_delay_ms = 60000;
    config->release_delay_ms = 2000;
    read_text(c, config);
    override_role(c, role, config);
    sort_findings(c);
    if (c->n_more > 0) {
        c->items[c->n++] = (struct local_config_finding){
            c->more_errors, 0, arena_printf(a, "%zu further findings are not shown", c->n_more)};
    }
    *ret_findings = (struct local_config_findings){c->items, c->n};
    int rc = first_error(c, err);
    if (rc == ERR_OK) {
        *ret = config;
    }
    return rc;
}
