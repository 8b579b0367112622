/* SPDX-License-Identifier: Apache-2.0 */
/* lease_text.c: Leases of directors as JSON (lease_text.h).
 *
 * What others wrote is read leniently: a pool that this configuration does not have is left out,
 * and a text that is not a set of buckets claims all of them, since its writer may hold any. */
#include "providers/local/leases/lease_text.h"

#include <ctype.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/timefmt.h"

#define HOLDS       "local.trimtab.io/holds"
#define INTERFACES  "local.trimtab.io/interfaces"
#define TAKES       "local.trimtab.io/takes"
#define NETS_MAX    256
#define SECONDS_MAX 3600
#define HEX_DIGITS  (LOCAL_BUCKETS / 4)
#define OUTSIDE     "-" /* the group of addresses in no pool */

size_t local_lease_group_of(const struct local_config *c, const struct local_pool *pool)
{
    return pool == NULL ? c->n_pools : (size_t)(pool - c->pools);
}

static const char *group_name(const struct local_config *c, size_t group)
{
    return group < c->n_pools ? c->pools[group].name : OUTSIDE;
}

bool local_lease_name_ok(const char *director)
{
    size_t n = strlen(director);
    bool ok = n > 0 && n <= LOCAL_LEASE_NAME_MAX && isalnum((unsigned char)director[n - 1]);

    for (size_t i = 0; ok && i < n; i++) {
        unsigned char c = (unsigned char)director[i];
        bool inner = i > 0 && director[i - 1] != '.';
        ok = islower(c) || isdigit(c) || (inner && (c == '-' || c == '.'));
    }
    return ok;
}

static bool is_named(const struct local_pool *pool, const char *link)
{
    for (size_t i = 0; i < pool->n_interfaces; i++) {
        if (str_glob(pool->interfaces[i], link)) {
            return true;
        }
    }
    return pool->n_interfaces == 0;
}

static bool meets(const struct local_pool *pool, const struct ip_net *net)
{
    for (size_t i = 0; i < pool->n_ranges; i++) {
        const struct local_range *r = &pool->ranges[i];
        bool begins_in = ip_net_contains(net, &r->first);
        bool spans =
            local_addr_cmp(&r->first, &net->addr) <= 0 && local_addr_cmp(&net->addr, &r->last) <= 0;
        if (r->first.len == net->addr.len && (begins_in || spans)) {
            return true;
        }
    }
    return false;
}

bool local_lease_reaches(const struct local_config *c, size_t group,
                         const struct local_reach *reach, size_t n)
{
    const struct local_pool *pool = group < c->n_pools ? &c->pools[group] : NULL;

    if (pool == NULL || pool->announce_by != LOCAL_ANNOUNCE_ARP) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_named(pool, reach[i].link) && meets(pool, &reach[i].net)) {
            return true;
        }
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void append_set(struct str_buf *b, const struct local_bucket_set *s)
{
    for (unsigned digit = 0; digit < HEX_DIGITS; digit++) {
        unsigned value = 0;
        for (unsigned k = 0; k < 4; k++) {
            value = value << 1 | (unsigned)local_bucket_set_has(s, digit * 4 + k);
        }
        str_appendf(b, "%x", value);
    }
}

static bool same_set(const struct local_bucket_set *a, const struct local_bucket_set *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Groups with the same set stand together. */
static const char *holds_text(struct arena *a, const struct local_lease_words *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n = local_lease_groups(w->config);
    bool *told = ARENA_ARRAY(a, bool, n);

    for (size_t i = 0; i < n; i++) {
        size_t alike = 0;
        for (size_t k = i; k < n; k++) {
            alike += same_set(&w->holds[i], &w->holds[k]);
        }
        if (told[i]) {
            continue;
        }
        str_append(&b, i == 0 ? "" : " ");
        append_set(&b, &w->holds[i]);
        for (size_t k = i; k < n; k++) {
            if (same_set(&w->holds[i], &w->holds[k])) {
                told[k] = true;
                if (alike < n) {
                    str_appendf(&b, "%s%s", k == i ? "=" : ",", group_name(w->config, k));
                }
            }
        }
    }
    return str_buf_to_arena(&b, a);
}

static const char *reach_text(struct arena *a, const struct local_lease_words *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < w->n_reach && i < NETS_MAX; i++) {
        ip_net_format(&w->reach[i].net, text);
        str_appendf(&b, "%s%s@%s", i == 0 ? "" : ",", text, w->reach[i].link);
    }
    return str_buf_to_arena(&b, a);
}

static struct json_object *spec_of(const struct local_lease_words *w)
{
    struct json_object *spec = json_object_new_object();
    char now[40];
    int64_t seconds = (w->config->director.lease_duration_ms + 999) / 1000;

    time_format_micro(w->wall_us, now);
    json_add_str(spec, "holderIdentity", w->ends ? "" : w->machine);
    json_add_int(spec, "leaseDurationSeconds", seconds);
    json_add_str(spec, "renewTime", now);
    return spec;
}

static struct json_object *annotations_of(struct arena *a, const struct local_lease_words *w)
{
    struct json_object *o = json_object_new_object();

    json_add_str(o, HOLDS, holds_text(a, w));
    json_add_str(o, INTERFACES, reach_text(a, w));
    json_add_str(o, TAKES, w->takes && !w->ends ? "true" : "false");
    return o;
}

static const char *print(struct arena *a, struct json_object *o)
{
    const char *text = json_text(a, o, JSON_COMPACT);

    json_object_put(o);
    return text;
}

const char *local_lease_create(struct arena *a, const struct local_lease_words *w)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *labels = json_object_new_object();

    json_add_str(o, "apiVersion", LOCAL_LEASE_VERSION);
    json_add_str(o, "kind", "Lease");
    json_add_str(meta, "name", arena_printf(a, LOCAL_LEASE_PREFIX "%s", w->director));
    json_add_str(meta, "namespace", LOCAL_LEASE_NAMESPACE);
    json_add_str(labels, LOCAL_LEASE_LABEL, w->config->instance);
    json_add(meta, "labels", labels);
    json_add(meta, "annotations", annotations_of(a, w));
    json_add(o, "metadata", meta);
    json_add(o, "spec", spec_of(w));
    return print(a, o);
}

const char *local_lease_patch(struct arena *a, const struct local_lease_words *w,
                              const char *version)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *labels = json_object_new_object();

    json_add_str(meta, "resourceVersion", version);
    json_add_str(labels, LOCAL_LEASE_LABEL, w->config->instance);
    json_add(meta, "labels", labels);
    json_add(meta, "annotations", annotations_of(a, w));
    json_add(o, "metadata", meta);
    json_add(o, "spec", spec_of(w));
    return print(a, o);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A value that is not a set counts as any. */
static struct local_bucket_set read_set(const char *text, size_t n)
{
    struct local_bucket_set s = {{0}};
    bool good = n == HEX_DIGITS;

    for (size_t i = 0; good && i < n; i++) {
        const char *digits = "0123456789abcdef";
        const char *at = strchr(digits, tolower((unsigned char)text[i]));
        good = at != NULL && *at != '\0';
        for (unsigned k = 0; good && k < 4; k++) {
            if (((at - digits) >> (3 - k) & 1) != 0) {
                local_bucket_set_add(&s, (unsigned)i * 4 + k);
            }
        }
    }
    if (!good) {
        memset(&s, 0xff, sizeof s);
    }
    return s;
}

static void read_names(const struct local_config *c, const char *names, size_t n,
                       const struct local_bucket_set *set, struct local_bucket_set *ret)
{
    while (n > 0) {
        const char *comma = memchr(names, ',', n);
        size_t len = comma == NULL ? n : (size_t)(comma - names);
        for (size_t g = 0; g < local_lease_groups(c); g++) {
            const char *name = group_name(c, g);
            if (strlen(name) == len && memcmp(name, names, len) == 0) {
                ret[g] = *set;
            }
        }
        names += len + (comma != NULL);
        n -= len + (comma != NULL);
    }
}

static struct local_bucket_set *read_holds(struct arena *a, const struct local_config *c,
                                           const char *text)
{
    struct local_bucket_set *sets = ARENA_ARRAY(a, struct local_bucket_set, local_lease_groups(c));

    while (text != NULL && *text != '\0') {
        size_t part = strcspn(text, " ");
        size_t digits = strcspn(text, "= ");
        struct local_bucket_set set = read_set(text, digits);
        for (size_t g = 0; digits == part && g < local_lease_groups(c); g++) {
            sets[g] = set;
        }
        if (digits < part) {
            read_names(c, text + digits + 1, part - digits - 1, &set, sets);
        }
        text += part + (text[part] == ' ');
    }
    return sets;
}

static bool *read_reach(struct arena *a, const struct local_config *c, const char *text)
{
    struct local_reach *reach = ARENA_ARRAY(a, struct local_reach, NETS_MAX);
    bool *near = ARENA_ARRAY(a, bool, local_lease_groups(c));
    size_t n = 0;

    while (text != NULL && *text != '\0' && n < NETS_MAX) {
        size_t len = strcspn(text, ",");
        size_t net = strcspn(text, "@,");
        reach[n].link = net < len ? arena_strndup(a, text + net + 1, len - net - 1) : "";
        n += ip_net_parse(arena_strndup(a, text, net), &reach[n].net);
        text += len + (text[len] == ',');
    }
    for (size_t g = 0; g < local_lease_groups(c); g++) {
        near[g] = local_lease_reaches(c, g, reach, n);
    }
    return near;
}

bool local_lease_read(struct arena *a, const struct local_config *c, struct json_object *o,
                      struct local_lease *ret)
{
    struct json_object *meta = json_member(o, "metadata");
    struct json_object *spec = json_member(o, "spec");
    struct json_object *notes = json_member(meta, "annotations");
    const char *name = json_str(meta, "name");
    int64_t seconds = json_int(spec, "leaseDurationSeconds", 0);

    if (name == NULL || !str_has_prefix(name, LOCAL_LEASE_PREFIX)) {
        return false;
    }
    const char *machine = str_nonnull(json_str(spec, "holderIdentity"));
    bool drain = json_member(json_member(meta, "labels"), LOCAL_LEASE_DRAIN) != NULL;
    *ret =
        (struct local_lease){.version = str_nonnull(json_str(meta, "resourceVersion")),
                             .machine = machine,
                             .drain = drain,
                             .seen = {.name = name + strlen(LOCAL_LEASE_PREFIX),
                                      .version = str_nonnull(json_str(spec, "renewTime")),
                                      .ended = *machine == '\0',
                                      .duration_ms = 1000 * (seconds < 1             ? 1
                                                             : seconds > SECONDS_MAX ? SECONDS_MAX
                                                                                     : seconds),
                                      .takes = !drain && str_eq(json_str(notes, TAKES), "true"),
                                      .holds = read_holds(a, c, json_str(notes, HOLDS)),
                                      .near = read_reach(a, c, json_str(notes, INTERFACES))}};
    return true;
}
