/* SPDX-License-Identifier: Apache-2.0 */
/* wish.c: the values of a Service's wishes, read and checked one by one (wish.h).
 *
 * The first value that cannot be meant ends the reading: the Service is refused as a whole, and
 * nothing of it changes.  Values that do not go together are the room targets' affair
 * (local_serve_of()).  Pure. */
#include "providers/local/model/wish_internal.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/local/model/config_internal.h"

#include <inttypes.h>
#include <string.h>

#define POOLS_SHOWN 10
#define PATH_MAX_   253

struct reader {
    struct arena *a;
    const struct local_config *config;
    const struct tt_service *s;
    struct local_wish *w;
    struct err *err;
};
typedef int read_fn(const struct reader *r, const struct local_found *f);

/* The message begins with the name of the wish; the key comes before it only if it is another
 * program's. */
static int refuse_own(const struct reader *r, const struct local_found *f, const char *text)
{
    return f->own ? err_set(r->err, ERR_INVALID, "%s", text)
                  : local_wish_refuse(r->err, f, "%s", text);
}

static int refuse_word(const struct reader *r, const struct local_found *f, const char *name,
                       const char *meant, const char *const *words)
{
    const char *text =
        meant != NULL ? arena_printf(r->a, "%s \"%.100s\": did you mean %s?", name, f->value, meant)
                      : arena_printf(r->a, "%s is \"%.100s\"; it can be %s", name, f->value,
                                     local_words_text(r->a, words));
    return refuse_own(r, f, text);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static const char *pool_names(const struct reader *r)
{
    const struct local_config *c = r->config;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    size_t shown = c->n_pools > POOLS_SHOWN ? POOLS_SHOWN : c->n_pools;
    for (size_t i = 0; i < shown; i++) {
        str_appendf(&b, "%s%s", i > 0 ? ", " : "", c->pools[i].name);
    }
    if (shown < c->n_pools) {
        str_appendf(&b, " and %zu more", c->n_pools - shown);
    }
    return str_buf_to_arena(&b, r->a);
}

static int read_pool(const struct reader *r, const struct local_found *f)
{
    for (size_t i = 0; i < r->config->n_pools; i++) {
        if (str_eq(r->config->pools[i].name, f->value)) {
            r->w->pool = r->config->pools[i].name;
            return ERR_OK;
        }
    }
    return refuse_own(r, f,
                      arena_printf(r->a, "pool \"%.100s\" is not configured (there are: %s)",
                                   f->value, pool_names(r)));
}

static int read_addresses(const struct reader *r, const struct local_found *f)
{
    size_t n;
    const char **items = local_list_split(r->a, f->value, &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_addr addr;
        if (!ip_parse(items[i], &addr)) {
            return local_wish_refuse(r->err, f, "\"%.100s\" is not an address", items[i]);
        }
        for (size_t k = 0; k < r->w->n_addrs; k++) {
            if (r->w->addrs[k].len == addr.len) {
                return local_wish_refuse(r->err, f,
                                         "two %s addresses asked for; a Service has one per family",
                                         addr.len == 4 ? "IPv4" : "IPv6");
            }
        }
        r->w->addrs[r->w->n_addrs++] = addr;
    }
    r->w->addrs_key = f->key;
    return ERR_OK;
}

static int read_share(const struct reader *r, const struct local_found *f)
{
    r->w->share = f->value;
    return ERR_OK;
}

/* ---- how it is served ------------------------------------------------------------------------ */

static int read_mode(const struct reader *r, const struct local_found *f)
{
    const char *meant = NULL;
    if (!local_mode_parse(f->value, &r->w->mode, &meant)) {
        return refuse_word(r, f, "mode", meant, local_mode_words);
    }
    r->w->has_mode = true;
    return ERR_OK;
}

static int read_scheduler(const struct reader *r, const struct local_found *f)
{
    const char *meant = NULL;
    if (!local_scheduler_parse(f->value, &r->w->scheduler, &meant)) {
        return refuse_word(r, f, "scheduler", meant, local_scheduler_words);
    }
    return ERR_OK;
}

/* A word that differs in upper and lower case alone is the one that is meant. */
static const char *nearest(const char *const *words, const char *text)
{
    size_t n = 0;
    while (words[n] != NULL) {
        if (str_eq_nocase(words[n], text)) {
            return words[n];
        }
        n++;
    }
    return str_nearest(text, words, n);
}

static int read_targets(const struct reader *r, const struct local_found *f)
{
    if (!local_targets_parse(f->value, &r->w->targets)) {
        return refuse_word(r, f, "targets", nearest(local_targets_words, f->value),
                           local_targets_words);
    }
    return ERR_OK;
}

static int read_snat(const struct reader *r, const struct local_found *f)
{
    if (!local_snat_parse(f->value, &r->w->snat)) {
        return refuse_word(r, f, "snat", nearest(local_snat_words, f->value), local_snat_words);
    }
    r->w->has_snat = true;
    return ERR_OK;
}

/* `name` is the wish's name for messages about bounds. */
static int read_duration(const struct reader *r, const struct local_found *f, const char *name,
                         int64_t min, int64_t max, int64_t *ret)
{
    int64_t ms;
    char bound[LOCAL_DURATION_TEXT_MAX];
    if (!local_duration_parse(f->value, &ms)) {
        return local_wish_refuse(r->err, f, "\"%.100s\" is not a duration", f->value);
    }
    if (ms < min || ms > max || f->value[0] == '-') {
        bool low = ms < min || f->value[0] == '-';
        local_duration_text(low ? min : max, bound);
        return refuse_own(r, f,
                          arena_printf(r->a, "%s %.100s: at %s %s", name, f->value,
                                       low ? "least" : "most", bound));
    }
    *ret = ms;
    return ERR_OK;
}

static int read_number(const struct reader *r, const struct local_found *f, const char *name,
                       unsigned max, unsigned *ret)
{
    int64_t number;
    if (!str_to_i64(f->value, &number)) {
        return local_wish_refuse(r->err, f, "\"%.100s\" is not a whole number", f->value);
    }
    if (number < 1 || number > (int64_t)max) {
        return refuse_own(r, f,
                          arena_printf(r->a, "%s %" PRId64 ": at %s %u", name, number,
                                       number < 1 ? "least" : "most", number < 1 ? 1 : max));
    }
    *ret = (unsigned)number;
    return ERR_OK;
}

static int read_drain(const struct reader *r, const struct local_found *f)
{
    r->w->has_drain_timeout = true;
    return read_duration(r, f, "drain-timeout", 0, LOCAL_DRAIN_MS_MAX, &r->w->drain_timeout_ms);
}

static int read_sorry(const struct reader *r, const struct local_found *f)
{
    if (!local_sorry_parse(f->value, &r->w->sorry)) {
        return local_wish_refuse(r->err, f, "\"%.100s\" is not an address or address:port",
                                 f->value);
    }
    return ERR_OK;
}

/* ---- health checks --------------------------------------------------------------------------- */

static int read_check(const struct reader *r, const struct local_found *f)
{
    const char *meant = NULL;
    if (!local_check_parse(f->value, &r->w->health.kind, &meant)) {
        return refuse_word(r, f, "health-check", meant, local_check_words);
    }
    return ERR_OK;
}

static int read_path(const struct reader *r, const struct local_found *f)
{
    bool plain = true;
    for (const char *p = f->value; *p != '\0'; p++) {
        plain = plain && *p > ' ' && *p < 0x7f;
    }
    if (f->value[0] != '/' || !plain || strlen(f->value) > PATH_MAX_) {
        return refuse_own(r, f,
                          arena_printf(r->a,
                                       "health-check-path \"%.100s\": a path begins with / and has "
                                       "at most %d visible ASCII characters",
                                       f->value, PATH_MAX_));
    }
    r->w->health.path = f->value;
    return ERR_OK;
}

static int read_port(const struct reader *r, const struct local_found *f)
{
    unsigned port = 0;
    int rc = read_number(r, f, "health-check-port", UINT16_MAX, &port);
    r->w->health.port = (uint16_t)port;
    return rc;
}

static int read_interval(const struct reader *r, const struct local_found *f)
{
    return read_duration(r, f, "health-check-interval", LOCAL_CHECK_INTERVAL_MIN,
                         LOCAL_CHECK_MS_MAX, &r->w->health.interval_ms);
}

static int read_timeout(const struct reader *r, const struct local_found *f)
{
    return read_duration(r, f, "health-check-timeout", LOCAL_CHECK_TIMEOUT_MIN, LOCAL_CHECK_MS_MAX,
                         &r->w->health.timeout_ms);
}

static int read_fall(const struct reader *r, const struct local_found *f)
{
    return read_number(r, f, "health-check-fall", LOCAL_CHECK_COUNT_MAX, &r->w->health.fall);
}

static int read_rise(const struct reader *r, const struct local_found *f)
{
    return read_number(r, f, "health-check-rise", LOCAL_CHECK_COUNT_MAX, &r->w->health.rise);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int read_interfaces(const struct reader *r, const struct local_found *f)
{
    size_t n;
    const char **items = local_list_split(r->a, f->value, &n);
    for (size_t i = 0; i < n; i++) {
        if (items[i][0] == '\0') {
            return local_wish_refuse(r->err, f, "\"%.100s\" has an empty item", f->value);
        }
    }
    r->w->interfaces = items;
    r->w->n_interfaces = n;
    return ERR_OK;
}

static int read_bool(const struct reader *r, const struct local_found *f, bool *ret)
{
    if (!str_eq(f->value, "true") && !str_eq(f->value, "false")) {
        return local_wish_refuse(r->err, f, "want true or false, got \"%.100s\"", f->value);
    }
    *ret = str_eq(f->value, "true");
    return ERR_OK;
}

static int read_one_packet(const struct reader *r, const struct local_found *f)
{
    return read_bool(r, f, &r->w->udp_one_packet);
}

static int read_move(const struct reader *r, const struct local_found *f)
{
    return read_bool(r, f, &r->w->move);
}

/* As common/lb reads them: "::ffff:10.0.0.0/90" is not an IPv4 range. */
static bool is_range(const char *text)
{
    struct ip_net net;
    return ip_net_parse_sloppy(text, &net) &&
           !(net.was_mapped && (net.addr.len != 4 || net.prefix == 0));
}

static int read_ranges(const struct reader *r, const struct local_found *f)
{
    size_t n;
    const char **items = local_list_split(r->a, f->value, &n);
    struct str_set unused;
    if (!f->own) { /* the words of upstream for upstream's annotation */
        int rc = svc_source_ranges(r->a, r->s, &unused, r->err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_range(items[i])) {
            return local_wish_refuse(r->err, f, "\"%.100s\" is not a CIDR", items[i]);
        }
    }
    r->w->source_ranges = items;
    r->w->n_source_ranges = n;
    return ERR_OK;
}

static int read_spec_ranges(const struct reader *r)
{
    struct str_set unused;
    int rc = svc_source_ranges(r->a, r->s, &unused, r->err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **items = ARENA_ARRAY(r->a, const char *, r->s->n_source_ranges);
    for (size_t i = 0; i < r->s->n_source_ranges; i++) {
        items[i] = str_trim_unicode(r->a, r->s->source_ranges[i]);
    }
    r->w->source_ranges = items;
    r->w->n_source_ranges = r->s->n_source_ranges;
    return ERR_OK;
}

static int read_ignore(const struct reader *r)
{
    struct local_found f;
    int rc = local_wish_find(r->a, r->s, LOCAL_WISH_IGNORE, &f, r->err);
    if (rc != ERR_OK || f.key == NULL) {
        return rc;
    }
    return read_bool(r, &f, &r->w->ignore);
}

static const struct {
    enum local_wish_key key;
    read_fn *read;
} steps[] = {
    {LOCAL_WISH_POOL, read_pool},
    {LOCAL_WISH_ADDRESSES, read_addresses},
    {LOCAL_WISH_SHARE, read_share},
    {LOCAL_WISH_MODE, read_mode},
    {LOCAL_WISH_SCHEDULER, read_scheduler},
    {LOCAL_WISH_TARGETS, read_targets},
    {LOCAL_WISH_SNAT, read_snat},
    {LOCAL_WISH_DRAIN_TIMEOUT, read_drain},
    {LOCAL_WISH_HEALTH_CHECK, read_check},
    {LOCAL_WISH_HEALTH_PATH, read_path},
    {LOCAL_WISH_HEALTH_PORT, read_port},
    {LOCAL_WISH_HEALTH_INTERVAL, read_interval},
    {LOCAL_WISH_HEALTH_TIMEOUT, read_timeout},
    {LOCAL_WISH_HEALTH_FALL, read_fall},
    {LOCAL_WISH_HEALTH_RISE, read_rise},
    {LOCAL_WISH_SORRY, read_sorry},
    {LOCAL_WISH_SOURCE_RANGES, read_ranges},
    {LOCAL_WISH_INTERFACES, read_interfaces},
    {LOCAL_WISH_UDP_ONE_PACKET, read_one_packet},
    {LOCAL_WISH_MOVE, read_move},
};

int local_wish_read(struct arena *a, const struct local_config *config, const struct tt_service *s,
                    struct local_wish *ret, struct err *err)
{
    struct local_wish wish = {0};
    const struct reader r = {a, config, s, &wish, err};
    bool spec_ranges = s->n_source_ranges > 0;
    int rc = read_ignore(&r);
    if (rc == ERR_OK && spec_ranges && !wish.ignore) {
        rc = read_spec_ranges(&r);
    }
    for (size_t i = 0; rc == ERR_OK && !wish.ignore && i < ARRAY_LEN(steps); i++) {
        struct local_found f = {NULL, NULL, false};
        if (spec_ranges && steps[i].key == LOCAL_WISH_SOURCE_RANGES) {
            continue;
        }
        rc = local_wish_find(a, s, steps[i].key, &f, err);
        if (rc == ERR_OK && f.key != NULL) {
            rc = steps[i].read(&r, &f);
        }
    }
    if (rc == ERR_OK) {
        *ret = wish;
    }
    return rc;
}
