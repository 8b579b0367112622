/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_aws_config.c: aws_config_parse() and aws_profiles_parse().
 *
 * What holds for every input: no text of a configuration is NULL; overrides that are accepted are
 * whole and unique; unknown keys have a line of the text; a refusal is INVALID and says something;
 * a profile's values are found again or not at all. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/aws/auth/aws_profile.h"
#include "providers/aws/model/aws_config_keys.h"

static void check_config(struct arena *a, const struct aws_config *c)
{
    const char *region = NULL;
    struct aws_cluster cluster = {0};
    for (const struct gcfg_key *k = aws_config_keys; k->section != NULL; k++) {
        FUZZ_CHECK(k->type != GCFG_STR ||
                   *(const char *const *)((const char *)c + k->offset) != NULL);
    }
    for (size_t i = 0; i < c->n_overrides; i++) {
        const struct aws_override *o = &c->overrides[i];
        FUZZ_CHECK(o->label != NULL && o->signing_name != NULL && o->line > 0);
        FUZZ_CHECK(*o->service != '\0' && *o->region != '\0' && *o->url != '\0');
        FUZZ_CHECK(*o->signing_region != '\0');
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(!str_eq(o->label, c->overrides[k].label));
            FUZZ_CHECK(!str_eq(o->service, c->overrides[k].service) ||
                       !str_eq(o->region, c->overrides[k].region));
        }
    }
    if (aws_region_of_zone(a, c->zone, &region, NULL) == ERR_OK) {
        FUZZ_CHECK(str_has_prefix(c->zone, region) && strchr(region, '-') != NULL);
    }
    if (aws_cluster_of_config(c, &cluster, NULL) == ERR_OK) {
        FUZZ_CHECK(*cluster.id != '\0');
    }
    FUZZ_CHECK(aws_config_probe_port(c) != 0 && *aws_config_probe_path(c) != '\0');
}

static void check_profiles(struct arena *a, const char *text, size_t size)
{
    const struct aws_profiles *p = NULL;
    struct err err = ERR_INIT;
    int rc = aws_profiles_parse(a, text, size / 2, text + size / 2, size - size / 2, &p, &err);
    if (rc != ERR_OK) {
        FUZZ_CHECK(rc == ERR_INVALID && err.message[0] != '\0');
        return;
    }
    bool exists = aws_profile_exists(p, "default");
    FUZZ_CHECK(aws_profile_get(p, "default", "region") == NULL || exists);
    FUZZ_CHECK(aws_profile_service_get(p, "default", "ec2", "endpoint_url") == NULL || exists);
}

FUZZ_TARGET(aws_config, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct aws_config c;
    struct gcfg_unknown *unknown = NULL;
    size_t n = 0;
    const char *text = (const char *)data;
    int rc = aws_config_parse(a, text, size, &c, &unknown, &n, &err);
    if (rc == ERR_OK) {
        check_config(a, &c);
        for (size_t i = 0; i < n; i++) {
            FUZZ_CHECK(unknown[i].section != NULL && unknown[i].line > 0);
            FUZZ_CHECK((size_t)unknown[i].line <= size + 1);
            FUZZ_CHECK(i == 0 || unknown[i - 1].line <= unknown[i].line);
        }
    } else {
        FUZZ_CHECK(rc == ERR_INVALID && err.message[0] != '\0');
    }
    check_profiles(a, text, size);
    arena_free(a);
    return 0;
}
