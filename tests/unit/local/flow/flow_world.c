/* SPDX-License-Identifier: Apache-2.0 */
/* flow_world.c: the cluster and the kernel that the tests of the flow have (flow_kit.h). */
#include "tests/unit/local/flow/flow_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/objects.h"

struct kit_service *flow_world_service(struct flow_kit *k, const char *key)
{
    for (size_t i = 0; i < k->n_services; i++) {
        if (str_eq(k->services[i].key, key)) {
            return &k->services[i];
        }
    }
    assert_true(k->n_services < KIT_SERVICES);
    struct kit_service *s = &k->services[k->n_services++];
    s->key = arena_strdup(k->a, key);
    s->words = arena_strdup(k->a, "");
    return s;
}

void flow_world_make(struct flow_kit *k, const char *key, const char *words)
{
    struct kit_service *s = flow_world_service(k, key);

    s->made = true;
    s->gone = s->deleting = false;
    s->words = arena_strdup(k->a, words);
    s->version++;
    s->seen = NULL;
}

/* ---- objects --------------------------------------------------------------------------------- */

struct parts {
    struct str_buf spec, notes, ports;
    const char *type;
    char created;
};

static void add_ports(struct arena *a, struct str_buf *b, const char *list)
{
    size_t n = 0;
    char **items = str_split(a, list, ',', &n);

    for (size_t i = 0; i < n; i++) {
        size_t n_parts = 0;
        char **part = str_split(a, items[i], '/', &n_parts);
        str_appendf(b,
                    "%s{\"name\": \"p%zu\", \"port\": %s, \"protocol\": \"%s\", \"nodePort\": %s}",
                    i == 0 ? "" : ", ", i, part[0], part[1], n_parts > 2 ? part[2] : "30080");
    }
}

static void add_list(struct arena *a, struct str_buf *b, const char *list)
{
    size_t n = 0;
    char **items = str_split(a, list, ',', &n);

    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s\"%s\"", i == 0 ? "" : ", ", items[i]);
    }
}

static void add_families(struct str_buf *b, const char *which)
{
    str_appendf(b, ", \"ipFamilyPolicy\": \"%s\", \"ipFamilies\": [",
                *which == '~'       ? "PreferDualStack"
                : strlen(which) > 1 ? "RequireDualStack"
                                    : "SingleStack");
    which += *which == '~';
    for (const char *at = which; *at != '\0'; at++) {
        str_appendf(b, "%s\"IPv%c\"", at == which ? "" : ", ", *at);
    }
    str_append(b, "]");
}

static void add_word(struct arena *a, struct parts *x, const char *word)
{
    const char *eq = strchr(word, '=');
    const char *value = eq == NULL ? "" : eq + 1;

    if (str_has_prefix(word, "ports=")) {
        str_buf_reset(&x->ports);
        add_ports(a, &x->ports, value);
    } else if (str_has_prefix(word, "type=")) {
        x->type = value;
    } else if (str_has_prefix(word, "fam=")) {
        add_families(&x->spec, value);
    } else if (str_has_prefix(word, "created=")) {
        x->created = *value;
    } else if (str_has_prefix(word, "ranges=")) {
        str_append(&x->spec, ", \"loadBalancerSourceRanges\": [");
        add_list(a, &x->spec, value);
        str_append(&x->spec, "]");
    } else if (str_eq(word, "local")) {
        str_append(&x->spec,
                   ", \"externalTrafficPolicy\": \"Local\", \"healthCheckNodePort\": 31000");
    } else if (str_eq(word, "affinity")) {
        str_append(&x->spec, ", \"sessionAffinity\": \"ClientIP\"");
    } else if (str_has_prefix(word, "ask=")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "addresses\": \"%s\"", value);
    } else if (str_has_prefix(word, "sched=")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "scheduler\": \"%s\"", value);
    } else if (str_has_prefix(word, "drain=")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "drain-timeout\": \"%s\"", value);
    } else if (str_eq(word, "ignore")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "ignore\": \"true\"");
    } else if (str_eq(word, "move")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "move\": \"true\"");
    } else if (str_has_prefix(word, "share=") || str_has_prefix(word, "pool=") ||
               str_has_prefix(word, "snat=") || str_has_prefix(word, "mode=")) {
        str_appendf(&x->notes, ", \"" LOCAL_PREFIX "%.*s\": \"%s\"", (int)(eq - word), word, value);
    } else if (*word == '@') {
        str_appendf(&x->notes, ", \"%s%.*s\": \"%s\"",
                    memchr(word, '/', (size_t)(eq - word)) == NULL ? LOCAL_PREFIX : "",
                    (int)(eq - word - 1), word + 1, value);
    } else if (*word == '.') {
        str_appendf(&x->spec, ", \"%.*s\": %s", (int)(eq - word - 1), word + 1, value);
    } else if (!str_has_prefix(word, "st=") && *word != '\0') {
        fail_msg("word %s", word);
    }
}

static const char *status_text(struct arena *a, const char *status)
{
    size_t n = 0;
    char **items = str_split(a, status, ' ', &n);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    for (size_t i = 0; i < n; i++) {
        if (*items[i] != '\0') {
            str_appendf(&b, "%s{\"ip\": \"%s\"}", i == 0 ? "" : ", ", items[i]);
        }
    }
    return str_buf_to_arena(&b, a);
}

static const struct tt_service *object_of(struct flow_kit *k, const struct kit_service *s)
{
    size_t n = 0;
    char **words = str_split(k->a, s->words, ' ', &n);
    struct parts x = {.type = "LoadBalancer", .created = '1'};
    const char *name = strchr(s->key, '/') + 1;

    add_ports(k->a, &x.ports, "80/TCP/30080");
    for (size_t i = 0; i < n; i++) {
        add_word(k->a, &x, words[i]);
    }
    const char *json = arena_printf(
        k->a,
        "{\"metadata\": {\"namespace\": \"%.*s\", \"name\": \"%s\", \"uid\": \"u-%s\", "
        "\"resourceVersion\": \"%u\", \"creationTimestamp\": \"2026-01-01T00:00:0%cZ\"%s, "
        "\"annotations\": {\"x\": \"y\"%s}%s}, \"spec\": {\"type\": \"%s\", "
        "\"loadBalancerClass\": \"" LOCAL_CLASS "\", \"clusterIPs\": [\"10.96.0.1\"], "
        "\"ports\": [%s]%s}, \"status\": {\"loadBalancer\": {\"ingress\": [%s]}}}",
        (int)(name - s->key - 1), s->key, name, name, s->version, x.created,
        s->deleting ? ", \"deletionTimestamp\": \"2026-01-02T00:00:00Z\"" : "",
        str_buf_text(&x.notes),
        !s->finalizer ? ""
                      : ", \"finalizers\": [\""
                        "service.kubernetes.io/load-balancer-cleanup"
                        "\"]",
        x.type, str_buf_text(&x.ports), str_buf_text(&x.spec), status_text(k->a, s->status));
    str_buf_done(&x.spec);
    str_buf_done(&x.notes);
    str_buf_done(&x.ports);
    return test_service_text(k->a, json);
}

static int by_name(const void *a, const void *b)
{
    const struct tt_service *x = *(const struct tt_service *const *)a;
    const struct tt_service *y = *(const struct tt_service *const *)b;
    int order = strcmp(x->ns, y->ns);

    return order != 0 ? order : strcmp(x->name, y->name);
}

void flow_world_snapshot(struct flow_kit *k)
{
    k->n_snapshot = 0;
    for (size_t i = 0; i < k->n_services; i++) {
        struct kit_service *s = &k->services[i];
        if (s->made && !s->gone) {
            s->seen = s->seen != NULL ? s->seen : object_of(k, s);
            k->snapshot[k->n_snapshot++] = s->seen;
        }
    }
    qsort(k->snapshot, k->n_snapshot, sizeof k->snapshot[0], by_name);
}

const struct tt_node **flow_world_nodes(struct flow_kit *k, size_t *ret_n)
{
    size_t n = 0;
    char **names = str_split(k->a, k->nodes, ' ', &n);
    const struct tt_node **nodes = ARENA_ARRAY(k->a, const struct tt_node *, n + 1);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == 'n') {
            nodes[(*ret_n)++] = test_node_text(
                k->a,
                arena_printf(k->a,
                             "{\"metadata\": {\"name\": \"%s\"}, \"status\": {\"addresses\": "
                             "[{\"type\": \"InternalIP\", \"address\": \"10.1.0.%s\"}, {\"type\": "
                             "\"InternalIP\", \"address\": \"fd01::%s\"}]}}",
                             names[i], names[i] + 1, names[i] + 1));
        }
    }
    return nodes;
}

const struct tt_slice **flow_world_slices(struct flow_kit *k, const struct kit_service *s,
                                          size_t *ret_n)
{
    size_t n = 0;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    char **words = str_split(k->a, str_nonnull(s->endpoints), ' ', &n);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    str_appendf(&b, "[{\"metadata\": {\"namespace\": \"d\", \"name\": \"s\", \"labels\": "
                    "{\"kubernetes.io/service-name\": \"a\"}}, \"addressType\": \"IPv4\", "
                    "\"ports\": [{\"name\": \"p0\", \"port\": 8080, \"protocol\": \"TCP\"}], "
                    "\"endpoints\": [");
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) {
        if (*words[i] != '\0') {
            str_appendf(&b,
                        "%s{\"addresses\": [\"10.2.0.%u\"], \"nodeName\": \"%.*s\", "
                        "\"conditions\": {\"ready\": %s}}",
                        count == 0 ? "" : ", ", count + 1, (int)strcspn(words[i], "/"), words[i],
                        strchr(words[i], '/') == NULL ? "true" : "false");
            count++;
        }
    }
    str_append(&b, "]}]");
    if (json_parse_arena(k->a, str_buf_text(&b), strlen(str_buf_text(&b)), NULL, &o, &err) !=
        ERR_OK) {
        fail_msg("%s", err.message);
    }
    return test_slices(k->a, o, ret_n);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

struct reading {
    struct flow_kit *k;
    struct local_mirror *m;
    size_t n_elements; /* of frontends, as the kernel counts them */
    size_t n_shown;
    struct str_buf *out;
};

static void note_element(void *arg, const struct local_nft_element *e)
{
    struct reading *r = arg;

    local_mirror_element(r->m, e, false);
    r->n_elements += e->set == LOCAL_NFT_SLOT || e->set == LOCAL_NFT_ALL ||
                     e->set == LOCAL_NFT_FROM || e->set == LOCAL_NFT_ALSO;
}

static void note_hold(void *arg, const struct ip_addr *addr, enum local_route_kind kind, int link)
{
    local_mirror_hold(((struct reading *)arg)->m, addr, kind, link, false);
}

static void read_kernel(struct reading *r)
{
    r->m = local_mirror_new(NULL);
    fake_kernel_elements(r->k->kernel, note_element, r);
    fake_kernel_holds(r->k->kernel, note_hold, r);
    flow_world_read_ipvs(r->k, r->m);
}

static size_t count_slots(const struct local_front *f)
{
    size_t n = 0;

    for (unsigned i = 0; i < f->m; i++) {
        n += f->slots[i].addr.len != 0;
    }
    return n;
}

void flow_world_broken(struct flow_kit *k, const char *which, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    if (!k->broken) {
        str_appendf(&k->out, "%s IS BROKEN AT %s ", which, text);
    }
    k->broken = true;
}

static void check_address(void *arg, const struct local_mirror_vip *v)
{
    struct reading *r = arg;

    if ((v->vip.held || v->vip.exported) && !v->vip.guarded) {
        flow_world_broken(r->k, "I1", &v->vip.addr);
    }
    if (v->vip.exported && !v->vip.held) {
        flow_world_broken(r->k, "I3", &v->vip.addr);
    }
    for (size_t i = 0; i < v->n_fronts; i++) {
        size_t n = count_slots(&v->fronts[i]);
        r->n_shown +=
            n + v->fronts[i].other_m + v->fronts[i].n_open + v->fronts[i].n_also + v->fronts[i].all;
        if (local_front_is_open(&v->fronts[i]) && n == 0 &&
            !local_ipvs_some_weight(&v->fronts[i].ipvs)) {
            flow_world_broken(r->k, "I2", &v->vip.addr);
        }
        if (n != v->fronts[i].m) {
            flow_world_broken(r->k, "HALF A FRONTEND", &v->vip.addr);
        }
    }
}

void flow_world_check(void *kit, struct local_kernel *kernel)
{
    struct flow_kit *k = kit;
    struct reading r = {.k = k};

    (void)kernel;
    if (!k->watching || k->unchecked <= 0) {
        return;
    }
    k->unchecked--;
    read_kernel(&r);
    local_mirror_each(r.m, check_address, &r);
    flow_world_check_ipvs(k, r.m);
    if (r.n_shown != r.n_elements && !k->broken) {
        str_append(&k->out, "A FRONTEND IS IN THREE MAPS ");
        k->broken = true;
    }
    local_mirror_free(r.m);
}

void flow_world_show_dest(struct str_buf *b, const struct ip_addr *addr, uint16_t port)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    if (str_has_prefix(text, "10.1.0.") || str_has_prefix(text, "fd01::")) {
        str_appendf(b, "n%c:%u", text[strlen(text) - 1], port);
    } else {
        str_appendf(b, "%s:%u", text, port);
    }
}

static void show_slots(struct str_buf *b, const struct local_front *f)
{
    for (unsigned i = 0; i < f->m; i++) {
        unsigned n = 0;
        bool first = true;
        for (unsigned j = 0; j < f->m; j++) {
            bool same =
                f->slots[j].port == f->slots[i].port && ip_eq(&f->slots[j].addr, &f->slots[i].addr);
            n += same;
            first = first && !(same && j < i);
        }
        if (first) {
            str_append(b, " ");
            flow_world_show_dest(b, &f->slots[i].addr, f->slots[i].port);
            str_appendf(b, "*%u", n);
        }
    }
}

static int by_id(const void *a, const void *b)
{
    return local_frontend_cmp(&(*(const struct local_front *const *)a)->id,
                              &(*(const struct local_front *const *)b)->id);
}

static void show_front(struct str_buf *b, const struct local_mirror *m, const struct local_front *f)
{
    char text[IP_TEXT_MAX];

    str_appendf(b, " %u/%s", f->id.port, f->id.protocol == LOCAL_TCP ? "tcp" : "udp");
    if (f->m > 0) {
        str_appendf(b, " %s%u", f->hash ? "hash" : "rr", f->m);
        show_slots(b, f);
    }
    flow_world_show_ipvs(b, m, &f->ipvs);
    if (f->all) {
        str_append(b, f->id.vip.len == 4 ? " <0.0.0.0/0" : " <::/0");
    }
    for (size_t i = 0; i < f->n_open; i++) {
        ip_net_format(&f->open[i], text);
        str_appendf(b, " <%s", text);
    }
    for (size_t i = 0; i < f->n_also; i++) {
        ip_net_format(&f->also[i], text);
        str_appendf(b, " <<%s", text);
    }
    str_append(b, f->snat ? " snat" : "");
}

static void show_address(void *arg, const struct local_mirror_vip *v)
{
    struct reading *r = arg;
    char text[IP_TEXT_MAX];
    const struct local_front **sorted =
        ARENA_ARRAY(r->k->a, const struct local_front *, v->n_fronts + 1);

    ip_format(&v->vip.addr, text);
    str_appendf(r->out, "%s[%s]%s%s%s", text,
                v->vip.guarded ? str_or(v->vip.comment, "?") : "not guarded",
                v->vip.held ? " held" : "", v->vip.held_on != 0 ? " on link" : "",
                v->vip.exported ? " exported" : "");
    for (size_t i = 0; i < v->n_fronts; i++) {
        sorted[i] = &v->fronts[i];
    }
    qsort(sorted, v->n_fronts, sizeof *sorted, by_id);
    for (size_t i = 0; i < v->n_fronts; i++) {
        show_front(r->out, r->m, sorted[i]);
    }
    str_append(r->out, "; ");
}

const char *flow_kit_state(struct flow_kit *k)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct reading r = {.k = k, .out = &b};

    read_kernel(&r);
    local_mirror_each(r.m, show_address, &r);
    local_mirror_free(r.m);
    return str_buf_to_arena(&b, k->a);
}

/* ---- others who write ------------------------------------------------------------------------ */

struct taking {
    enum local_nft_set set;
    struct local_nft_change changes[600];
    size_t n;
};

static void take_element(void *arg, const struct local_nft_element *e)
{
    struct taking *t = arg;

    if (e->set == t->set && t->n < ARRAY_LEN(t->changes)) {
        t->changes[t->n++] = (struct local_nft_change){.del = true, .e = *e};
        t->changes[t->n - 1].e.comment = NULL;
    }
}

/* An address that no Service has, without a name. */
static void add_stranger(struct flow_kit *k)
{
    struct local_nft_change c = {.e = {.set = LOCAL_NFT_VIP}};
    struct err err = ERR_INIT;

    assert_true(ip_parse("10.0.0.7", &c.e.id.vip));
    assert_int_equal(k->real_ops.nft_commit(k->kernel, "trimtab", &c, 1, &err), ERR_OK);
}

void flow_world_foreign(struct flow_kit *k, const char *what)
{
    if (str_eq(what, "stranger")) {
        add_stranger(k);
        return;
    }
    struct taking t = {.set = str_eq(what, "guard")  ? LOCAL_NFT_VIP
                              : str_eq(what, "open") ? LOCAL_NFT_ALL
                                                     : LOCAL_NFT_SLOT};
    struct err err = ERR_INIT;

    k->watching = false; /* others break what they like */
    fake_kernel_elements(k->kernel, take_element, &t);
    (void)k->real_ops.nft_commit(k->kernel, "trimtab", t.changes, t.n, &err);
}

/* ---- results --------------------------------------------------------------------------------- */

void flow_world_write_status(struct flow_kit *k, struct kit_service *s, const char *status)
{
    if (!k->unwritten && !str_eq(status, s->status)) {
        k->moved = true;
        s->version++;
        s->seen = NULL;
        (void)snprintf(s->status, sizeof s->status, "%s", status);
    }
}

int32_t flow_world_publish(struct flow_kit *k, const struct tt_result *r)
{
    for (size_t i = 0; i < k->n_services; i++) {
        if (&k->services[i].result == r) {
            flow_world_write_status(k, &k->services[i], r->ingress);
        }
    }
    return k->unwritten ? TT_TRANSIENT : TT_OK;
}

void flow_world_text(struct tt_result *r, const char *text)
{
    str_append(&r->text, text);
}

void flow_world_row(struct tt_result *r, const struct tt_explain_row *row)
{
    str_appendf(&r->text, "%s %s %s; ", str_or(row->subject, "-"), str_or(row->value, "-"),
                str_or(row->outcome, "-"));
}
