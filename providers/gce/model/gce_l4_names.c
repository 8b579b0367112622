/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_names.c: see gce_l4_names.h.
 *
 * All names are "k8s2-<cluster hash>-<namespace>-<name>-<hash of the three>" with something before
 * or behind; what is too long is cut so that the hash at the end survives, but for suffixes (-ipv6,
 * -fw …), which eat into it. */
#include "providers/gce/model/gce_l4_names.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/service_rules.h"

#include <openssl/sha.h>
#include <string.h>

#define NAME_MAX_BYTES 63 /* of any Compute resource */
#define HASH_CHARS     8
#define SUBNET_HEX     6
/* Length for namespace and name (without the dash between them) beside "k8s2-", hashes and
 * dashes. */
#define BUDGET          39
#define GROUP_MAX_BYTES 62 /* of an instance group: longer ones are cut and get a "0" */

/* §2.1: not a number in base 36, but byte by byte. */
static char *content_hash(struct arena *a, const char *text)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    unsigned char sum[SHA256_DIGEST_LENGTH];
    char out[HASH_CHARS + 1];
    SHA256((const unsigned char *)text, strlen(text), sum);
    for (size_t i = 0; i < HASH_CHARS; i++) {
        out[i] = digits[sum[i] % (sizeof(digits) - 1)];
    }
    out[HASH_CHARS] = '\0';
    return arena_strdup(a, out);
}

char *gce_l4_cluster_hash(struct arena *a, const char *kube_system_uid)
{
    return content_hash(a, str_nonnull(kube_system_uid));
}

/* Input of all names of a Service. */
struct parts {
    struct arena *a;
    const char *cluster;
    const char *ns;
    const char *name;
    const char *hash;
};

static struct parts parts_of(struct arena *a, const char *kube_system_uid, const char *ns,
                             const char *name)
{
    struct parts p = {.a = a,
                      .cluster = gce_l4_cluster_hash(a, kube_system_uid),
                      .ns = str_nonnull(ns),
                      .name = str_nonnull(name)};
    p.hash = content_hash(a, arena_printf(a, "%s;%s;%s", p.cluster, p.ns, p.name));
    return p;
}

/* "namespace-name", both shortened by their share when they are longer than
 * `budget` together (§2.1). */
static char *trimmed(const struct parts *p, size_t budget)
{
    size_t n_ns = strlen(p->ns);
    size_t n_name = strlen(p->name);
    size_t total = n_ns + n_name;
    if (total > budget) {
        size_t excess = total - budget;
        n_ns -= n_ns * excess / total;
        n_name -= n_name * excess / total;
        n_name -= n_ns + n_name - budget; /* 0, or 1: what rounding down left too much */
    }
    return arena_printf(p->a, "%.*s-%.*s", (int)n_ns, p->ns, (int)n_name, p->name);
}

static char *backend_name(const struct parts *p)
{
    return arena_printf(p->a, "k8s2-%s-%s-%s", p->cluster, trimmed(p, BUDGET), p->hash);
}

/* The suffix is never cut. */
static char *suffixed(struct arena *a, const char *name, const char *suffix)
{
    size_t room = NAME_MAX_BYTES - strlen(suffix);
    return arena_printf(a, "%.*s%s", (int)room, name, suffix);
}

static char *deny_name(const struct parts *p, const char *suffix)
{
    size_t rest =
        strlen("k8s2-") + strlen(p->cluster) + strlen("---") + strlen(p->hash) + strlen(suffix);
    return arena_printf(p->a, "k8s2-%s-%s-%s%s", p->cluster, trimmed(p, NAME_MAX_BYTES - rest),
                        p->hash, suffix);
}

static char *rule_name(const struct parts *p, const char *protocol, bool v6)
{
    const char *word = str_lower(p->a, protocol);
    if (str_eq(word, "l3_default")) {
        word = "l3";
    }
    char *name = arena_printf(p->a, "k8s2-%s-%s-%s-%s", word, p->cluster,
                              trimmed(p, BUDGET - strlen(word) - 1), p->hash);
    return v6 ? suffixed(p->a, name, "-ipv6") : name;
}

char *gce_l4_group_name(struct arena *a, const char *cluster_uid)
{
    if (str_is_empty(cluster_uid)) {
        return arena_strdup(a, "k8s-ig");
    }
    char *name = arena_printf(a, "k8s-ig--%s", cluster_uid);
    if (strlen(name) > GROUP_MAX_BYTES) {
        name = arena_printf(a, "%.*s0", GROUP_MAX_BYTES, name);
    }
    return name;
}

void gce_l4_names_make(struct arena *a, const char *kube_system_uid, const char *ns,
                       const char *name, const char *service_uid, struct gce_l4_names *ret)
{
    struct parts p = parts_of(a, kube_system_uid, ns, name);
    const char *backend = backend_name(&p);
    const char *legacy = svc_default_lb_name(a, str_nonnull(service_uid));
    const char *shared = arena_printf(a, "k8s2-%s-l4-shared-hc", p.cluster);
    *ret = (struct gce_l4_names){
        .cluster = p.cluster,
        .backend = backend,
        .legacy = legacy,
        .legacy_v6 = suffixed(a, legacy, "-ipv6"),
        .rule_tcp = rule_name(&p, "TCP", false),
        .rule_udp = rule_name(&p, "UDP", false),
        .rule_l3 = rule_name(&p, "L3_DEFAULT", false),
        .rule_tcp_v6 = rule_name(&p, "TCP", true),
        .rule_udp_v6 = rule_name(&p, "UDP", true),
        .rule_l3_v6 = rule_name(&p, "L3_DEFAULT", true),
        .firewall = backend,
        .firewall_v6 = suffixed(a, backend, "-ipv6"),
        .deny = deny_name(&p, "-deny"),
        .deny_v6 = deny_name(&p, "-deny-ipv6"),
        .local_check = backend,
        .local_check_firewall = suffixed(a, backend, "-fw"),
        .local_check_firewall_v6 = suffixed(a, backend, "-fw-ipv6"),
        .shared_check = shared,
        .shared_check_firewall = suffixed(a, shared, "-fw"),
        .shared_check_firewall_v6 = suffixed(a, shared, "-fw-ipv6"),
    };
}

/* ---- descriptions ---------------------------------------------------------------------------- */

#define KEY_SERVICE "networking.gke.io/service-name"
#define KEY_VERSION "networking.gke.io/api-version"
#define KEY_IP      "networking.gke.io/service-ip"
#define KEY_TEXT    "networking.gke.io/resource-description"

static void add_filled(struct str_buf *b, const char *key, const char *value)
{
    if (!str_is_empty(value)) {
        str_appendf(b, ",\"%s\":", key);
        str_append_json_quoted(b, value);
    }
}

char *gce_l4_describe(struct arena *a, const struct gce_l4_description *d)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{\"" KEY_SERVICE "\":");
    str_append_json_quoted(&b, str_nonnull(d->service));
    add_filled(&b, KEY_VERSION, d->version);
    add_filled(&b, KEY_IP, d->ip);
    add_filled(&b, KEY_TEXT, d->text);
    str_append_c(&b, '}');
    return str_buf_to_arena(&b, a);
}

bool gce_l4_description_parse(struct arena *a, const char *text, struct gce_l4_description *ret)
{
#define MEMBER(member, key)                                                                        \
    {                                                                                              \
        .name = (key), .type = JSON_T_STR, .offset = offsetof(struct gce_l4_description, member)   \
    }
    static const struct json_field fields[] = {
        MEMBER(service, KEY_SERVICE),
        MEMBER(version, KEY_VERSION),
        MEMBER(ip, KEY_IP),
        MEMBER(text, KEY_TEXT),
        {0},
    };
#undef MEMBER
    struct gce_l4_description d = {.service = "", .version = "", .ip = "", .text = ""};
    struct json_object *o = NULL;
    text = str_nonnull(text);
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return false;
    }
    /* "null" parses, to a description that says nothing. */
    if (o != NULL && json_decode(a, o, fields, &d, JSON_SKIP_UNKNOWN, "", NULL) != ERR_OK) {
        return false;
    }
    *ret = d;
    return true;
}

char *gce_l4_shared_text(struct arena *a, const char *kind)
{
    return arena_printf(a,
                        "This resource is shared by all L4 %s Services using "
                        "ExternalTrafficPolicy: Cluster.",
                        kind);
}

char *gce_l4_address_description(struct arena *a, const char *key)
{
    return arena_printf(a, "{\"kubernetes.io/service-name\":\"%s\"}", key);
}

static int version_rank(const char *version)
{
    return str_eq(version, "alpha") ? 2 : str_eq(version, "beta") ? 1 : 0;
}

bool gce_l4_description_same(struct arena *a, const char *is, const char *want)
{
    struct gce_l4_description w;
    struct gce_l4_description has;
    if (str_eq(str_nonnull(is), str_nonnull(want))) {
        return true;
    }
    if (!gce_l4_description_parse(a, is, &has) || !gce_l4_description_parse(a, want, &w) ||
        version_rank(has.version) <= version_rank(w.version)) {
        return false;
    }
    /* Other differences appear when the wanted one is written with the other version. */
    w.version = has.version;
    return str_eq(gce_l4_describe(a, &w), is);
}
