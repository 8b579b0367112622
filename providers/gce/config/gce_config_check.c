/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config_check.c: from --cloud-config and flags to a configuration, with words for the
 * person who wrote it.
 *
 * gce_config.c reads as upstream does and says what upstream says; this file adds where
 * (file:line), what would be right, and for check-config what a person should look at although
 * the controller would start.  Opens no connection. */
#include "providers/gce/config/gce_config_check.h"

#include "common/base/str.h"
#include "common/cloud/config_findings.h"
#include "common/lb/exposed.h"
#include "common/net/url.h"
#include "providers/gce/api/gce_auth.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_name_rules.h"

#include <string.h>

static const char *unknown_text(struct arena *a, const struct gcfg_unknown *u)
{
    static const char *const sections[] = {"global"};
    if (u->key == NULL) {
        const char *near = str_nearest(u->section, sections, ARRAY_LEN(sections));
        return arena_printf(a, "unknown section [%s]; only [global] is read%s", u->section,
                            near == NULL ? "" : "; did you mean that?");
    }
    return arena_printf(a, "unknown key \"%s\" in [%s]%s", u->key, u->section,
                        config_near(a, u->nearest));
}

static int explain_error(const struct tt_open_args *args, struct err *err)
{
    static const struct {
        const char *said;
        const char *hint;
    } hints[] = {
        {"failed to parse bool", "allowed: true, yes, on, 1, false, no, off, 0"},
        {"blank value", "write key = value"},
        {"U+FEFF", "save the file without a byte order mark"},
        {"illegal UTF-8", "save the file as UTF-8 text"},
        {"expected section header", "the first line is [global]"},
        {"illegal character", "the file is lines of key = value below [global]"},
    };
    struct err why = *err;
    const char *hint = NULL;
    for (size_t i = 0; hint == NULL && i < ARRAY_LEN(hints); i++) {
        hint = strstr(why.message, hints[i].said) == NULL ? NULL : hints[i].hint;
    }
    return err_set(err, why.code, "%.200s:%.700s%s%s", config_file(args), why.message,
                   hint == NULL ? "" : "; ", str_nonnull(hint));
}

static bool has_alpha_feature(const struct gce_config *c, const char *name)
{
    for (size_t i = 0; i < c->alpha_features.n; i++) {
        if (str_eq(c->alpha_features.items[i], name)) {
            return true;
        }
    }
    return false;
}

int gce_config_load(struct arena *a, const struct tt_open_args *args, struct gce_config *ret,
                    struct gce_options *ret_options, struct err *err)
{
    struct gcfg_unknown *unknown;
    size_t n;
    if (gce_config_parse(a, args->config_text, args->config_len, ret, &unknown, &n, err) !=
        ERR_OK) {
        return explain_error(args, err);
    }
    for (size_t i = 0; i < n; i++) {
        config_finding(args, TT_LOG_WARNING, config_line(a, config_file(args), unknown[i].line),
                       unknown_text(a, &unknown[i]));
    }
    int rc = gce_options_parse(a, args->options, args->n_options, ret_options, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct gce_switches *parts = &ret_options->switches;
    parts->ilb_subsets = parts->ilb_subsets || has_alpha_feature(ret, "ILBSubsets");
    parts->legacy_off = TT_HAS(args, service_controller_off) && args->service_controller_off != 0;
    parts->gke_classes = TT_HAS(args, more_controllers) &&
                         str_eq(args->more_controllers, "gke-service-lb-controller");
    if (parts->legacy_off && !parts->gke_classes && !parts->run_ilb && !parts->run_netlb) {
        return err_set(err, ERR_INVALID,
                       "--controllers switches \"service-lb-controller\" off, and neither "
                       "--run-l4-controller nor --run-l4-netlb-controller is on: there is nothing "
                       "to run");
    }
    const struct gce_strs doubts = gce_options_doubts(a, args->options, args->n_options);
    for (size_t i = 0; i < doubts.n; i++) {
        config_finding(args, TT_LOG_WARNING, "", doubts.items[i]);
    }
    return ERR_OK;
}

/* ---- check-config ---------------------------------------------------------------------------- */

static bool is_entry(const struct gcfg_entry *e, const char *key)
{
    return e->key != NULL && str_eq_nocase(e->section, "global") && str_eq_nocase(e->key, key);
}

static bool is_list(const struct gcfg_entry *e)
{
    return is_entry(e, "node-tags") || is_entry(e, "alpha-features") ||
           is_entry(e, "allowed-projects");
}

static bool may_be_empty(const struct gcfg_entry *e)
{
    return is_entry(e, "allowed-projects");
}

static const char *where_is(const struct config_findings *f, const char *key)
{
    static const char *const sections[] = {"global"};
    return config_where(f, sections, ARRAY_LEN(sections), key);
}

/* An empty one allows the cluster's own alone. */
static void check_projects(const struct config_findings *f)
{
    struct arena *a = f->a;
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct gcfg_entry *e = &f->entries[i];
        if (is_entry(e, "allowed-projects") && !str_is_empty(e->value) &&
            !gce_project_holds(a, e->value)) {
            config_finding(
                f->args, TT_LOG_WARNING, config_line(a, config_file(f->args), e->line),
                arena_printf(a,
                             "allowed-projects \"%.100s\" is no project: it allows nothing; "
                             "repeat the key for more",
                             e->value));
        }
    }
}

static void check_url(struct arena *a, const struct tt_open_args *args, const char *where,
                      const char *key, const char *value)
{
    struct url u;
    bool usable = url_parse(a, value, &u, NULL) == ERR_OK &&
                  (str_eq(u.scheme, "http") || str_eq(u.scheme, "https")) && !str_is_empty(u.host);
    if (*value != '\0' && !usable) {
        config_finding(
            args, TT_LOG_WARNING, where,
            arena_printf(a, "%s is no http:// or https:// URL: every call will fail", key));
    }
    const char *exposed = exposed_text(a, key, value);
    if (exposed != NULL) {
        config_finding(args, TT_LOG_WARNING, where, exposed);
    }
}

/* They depend on the environment, which may be another one where the controller runs. */
static void check_credentials(struct arena *a, const struct tt_open_args *args,
                              const struct gce_config *c)
{
    const struct gce_auth_config auth = {.token_url = c->token_url, .token_body = c->token_body};
    struct gce_credentials found = {0};
    struct err err = ERR_INIT;
    if (gce_credentials_find(a, &auth, &found, &err) != ERR_OK) {
        config_finding(args, TT_LOG_WARNING, "",
                       arena_printf(a, "with this environment the controller would not start: %s",
                                    err.message));
    }
    jwt_key_free(found.key);
}

static int check(struct arena *a, const struct tt_open_args *args, struct err *err)
{
    struct gce_config c;
    struct gce_options options;
    const char *region = NULL;
    int rc = gce_config_load(a, args, &c, &options, err);
    struct config_findings f = {.a = a, .args = args};
    if (rc == ERR_OK) {
        config_findings_lines(&f);
    }
    if (rc == ERR_OK && *c.local_zone != '\0' &&
        gce_region_of_zone(a, c.local_zone, &region, NULL) != ERR_OK) {
        rc = err_set(err, ERR_INVALID,
                     "%s: local-zone \"%s\" is no zone; want REGION-ZONE, as us-central1-a",
                     where_is(&f, "local-zone"), c.local_zone);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    config_check_repeated(&f, is_list);
    config_check_empty(&f, may_be_empty);
    check_projects(&f);
    check_url(a, args, where_is(&f, "api-endpoint"), "api-endpoint", c.api_endpoint);
    if (!str_eq(c.token_url, "nil")) {
        check_url(a, args, where_is(&f, "token-url"), "token-url", c.token_url);
    }
    check_credentials(a, args, &c);
    if (c.node_tags.n == 0) {
        config_finding(args, TT_LOG_INFO, "",
                       "no node-tags: the instances of the nodes are listed to find the tags of "
                       "firewalls");
    }
    return ERR_OK;
}

int32_t gce_config_check(const struct tt_open_args *args, struct tt_result *result)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;
    if (check(a, args, &err) != ERR_OK) {
        args->host->result_fail(result, TT_INVALID, err.message, 0);
        return TT_INVALID;
    }
    return TT_OK;
}
