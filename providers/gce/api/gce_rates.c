/* SPDX-License-Identifier: Apache-2.0 */
/* gce_rates.c: see gce_rates.h. */
#include "providers/gce/api/gce_rates.h"

#include "common/base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS     4 /* name, "qps", rate, burst */
#define BURST_MAX 1000000

static int bad(const char *rule, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "--gce-ratelimit: %s: %s; a rule is VERSION.SERVICE.OPERATION,qps,RATE,BURST, "
                   "for instance ga.Addresses.Get,qps,1.5,5",
                   rule, why);
}

static char *lower_first(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    *copy = (char)tolower((unsigned char)*copy);
    return copy;
}

static int parse_name(struct arena *a, const char *name, struct gce_rate *ret, struct err *err)
{
    size_t n;
    char **parts = str_split(a, name, '.', &n);
    if (n != 3 || *parts[1] == '\0' || *parts[2] == '\0') {
        return bad(name, "it is not VERSION.SERVICE.OPERATION", err);
    }
    if (!str_eq(parts[0], "ga") && !str_eq(parts[0], "beta") && !str_eq(parts[0], "alpha")) {
        return bad(name, "the version is none of ga, beta and alpha", err);
    }
    bool waits = str_eq(parts[1], "Operations") && str_eq(parts[2], "Get");
    ret->version = parts[0];
    ret->method = waits ? "operations"
                        : arena_printf(a, "compute.%s.%s", lower_first(a, parts[1]),
                                       lower_first(a, parts[2]));
    return ERR_OK;
}

static bool parse_rate(const char *text, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret) && *ret > 0;
}

static int parse_rule(struct arena *a, char **parts, struct gce_rate *ret, struct err *err)
{
    int64_t burst;
    double rate;
    if (!str_eq(parts[1], "qps")) {
        return bad(parts[0], arena_printf(a, "the limiter \"%s\" is unknown", parts[1]), err);
    }
    if (!parse_rate(parts[2], &rate)) {
        return bad(parts[0], arena_printf(a, "\"%s\" is no rate", parts[2]), err);
    }
    if (!str_to_i64(parts[3], &burst) || burst < 1 || burst > BURST_MAX) {
        return bad(parts[0], arena_printf(a, "\"%s\" is no burst", parts[3]), err);
    }
    ret->limit = (struct budget_limit){
        .api = "gce", .kind = parts[0], .per_second = rate, .burst = (int)burst, .fixed = true};
    return parse_name(a, parts[0], ret, err);
}

int gce_rates_parse(struct arena *a, const char *text, struct gce_rates *ret, struct err *err)
{
    size_t n;
    char **parts = str_split(a, text, ',', &n);
    *ret = (struct gce_rates){0};
    if (str_is_empty(text)) {
        return ERR_OK;
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = str_trim(a, parts[i]);
    }
    if (n % PARTS != 0) {
        return bad(parts[n - n % PARTS], "parts of it are missing", err);
    }
    ret->items = ARENA_ARRAY(a, struct gce_rate, n / PARTS);
    ret->limits = ARENA_ARRAY(a, struct budget_limit, n / PARTS);
    for (size_t i = 0; i < n / PARTS; i++) {
        if (parse_rule(a, &parts[i * PARTS], &ret->items[i], err) != ERR_OK) {
            return err->code;
        }
        ret->limits[i] = ret->items[i].limit;
    }
    ret->n = n / PARTS;
    return ERR_OK;
}

size_t gce_rates_find(const struct gce_rates *rates, const char *version, const char *method)
{
    bool waits = str_has_suffix(method, "perations.wait");
    const char *ours = str_eq(version, "v1") ? "ga" : version;
    size_t i = 0;
    while (i < rates->n && !(str_eq(rates->items[i].version, ours) &&
                             str_eq(rates->items[i].method, waits ? "operations" : method))) {
        i++;
    }
    return i;
}
