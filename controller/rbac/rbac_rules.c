/* SPDX-License-Identifier: Apache-2.0 */
/* rbac_rules.c: the controller's own requests as a table, joined with the provider's; see
 * rbac_rules.h.
 *
 * A row is one resource in one place.  Rows about the same thing become one; what a wider row
 * allows is taken out of the narrower ones; rows that differ in their resource only
 * become one rule. */
#include "controller/rbac/rbac_rules.h"

#include <stdlib.h>
#include <string.h>

#include "controller/rules/quarantine_rules.h"

const char *const rbac_verbs[] = {"get",    "list",  "watch",  "create",
                                  "update", "patch", "delete", "deletecollection"};
const size_t rbac_verbs_n = ARRAY_LEN(rbac_verbs);

/* Everything that controller/ asks of the API server, whatever the provider is.  Finalizers,
 * annotations and status go through services/status alone.  The reviews of the HTTPS port's callers
 * are not here: roles that every cluster has (system:auth-delegator,
 * extension-apiserver-authentication-reader) are bound for them. */
static const struct own_kind {
    unsigned whose;
    struct tt_kube_kind kind;
} own_kinds[] = {
    {RBAC_PROCESS, {.api_version = "v1", .resource = "services", .verbs = "list,watch"}},
    {RBAC_SERVICES, {.api_version = "v1", .resource = "services/status", .verbs = "patch"}},
    {RBAC_PROCESS, {.api_version = "v1", .resource = "nodes", .verbs = "list,watch"}},
    {RBAC_ALL, {.api_version = "v1", .resource = "events", .verbs = "create,patch"}},
};
/* Only where Services have an account of their own: it is made when it is missing, and its tokens
 * are requested. */
static const struct tt_kube_kind account_kinds[] = {
    {"v1", "serviceaccounts", RBAC_SERVICES_NS, NULL, "create"},
    {"v1", "serviceaccounts", RBAC_SERVICES_NS, RBAC_SERVICES_ACCOUNT, "get"},
    {"v1", "serviceaccounts/token", RBAC_SERVICES_NS, RBAC_SERVICES_ACCOUNT, "create"},
};
/* For providers with TT_CAP_WANTS_ENDPOINTS. */
static const struct tt_kube_kind slice_kind = {
    .api_version = "discovery.k8s.io/v1", .resource = "endpointslices", .verbs = "list,watch"};
#define LEASE_VERSION "coordination.k8s.io/v1"

struct rows {
    struct arena *a;
    struct rbac_rule *items;
    size_t n, cap;
};

int rbac_read_verbs(const char *text, unsigned *ret, struct err *err)
{
    unsigned mask = 0;
    for (const char *p = text; *p != '\0';) {
        size_t len = strcspn(p, ","), k = 0;
        while (k < rbac_verbs_n &&
               (strlen(rbac_verbs[k]) != len || strncmp(rbac_verbs[k], p, len) != 0)) {
            k++;
        }
        if (k == rbac_verbs_n) {
            return err_set(err, ERR_INVALID, "unknown verb \"%.*s\"", (int)len, p);
        }
        mask |= 1u << k;
        p += len + (p[len] == ',');
    }
    *ret = mask;
    return ERR_OK;
}

static int cmp_place(const struct rbac_rule *x, const struct rbac_rule *y)
{
    int c = strcmp(x->ns, y->ns);
    c = c != 0 ? c : strcmp(x->name, y->name);
    return c != 0 ? c : strcmp(x->group, y->group);
}

static int cmp_row(const void *a, const void *b)
{
    const struct rbac_rule *x = a, *y = b;
    int c = cmp_place(x, y);
    return c != 0 ? c : strcmp(x->resources[0], y->resources[0]);
}

static int add_row(struct rows *rows, const struct tt_kube_kind *k, struct err *err)
{
    unsigned verbs = 0;
    const char *slash = strchr(k->api_version, '/');
    int code = rbac_read_verbs(k->verbs, &verbs, err);

    if (code != ERR_OK) {
        (void)err_prefix(err, "%s %s", k->api_version, k->resource);
        return code;
    }
    struct rbac_rule row = {
        .ns = str_nonnull(k->ns),
        .group = slash == NULL
                     ? ""
                     : arena_printf(rows->a, "%.*s", (int)(slash - k->api_version), k->api_version),
        .name = str_nonnull(k->name),
        .resources = ARENA_ARRAY(rows->a, const char *, 1),
        .n_resources = 1,
        .verbs = verbs,
    };
    row.resources[0] = k->resource;
    for (size_t i = 0; i < rows->n; i++) {
        if (cmp_row(&rows->items[i], &row) == 0) {
            rows->items[i].verbs |= verbs;
            return ERR_OK;
        }
    }
    rows->items[rows->n++] = row;
    return ERR_OK;
}

/* With the provider's flags, are requests of this kind made? */
static bool is_needed(const struct rbac_input *in, const struct tt_kube_kind *k)
{
    return !TT_HAS(in->desc, needs_kind) || in->desc->needs_kind == NULL ||
           in->desc->needs_kind(in->options, in->n_options, k) != 0;
}

/* Creation has no name that RBAC could compare. */
static int add_lease(struct rows *rows, const char *ns, const char *name, struct err *err)
{
    const struct tt_kube_kind any = {LEASE_VERSION, "leases", ns, NULL, "create"};
    const struct tt_kube_kind one = {LEASE_VERSION, "leases", ns, name, "get,watch,update"};
    int code = add_row(rows, &any, err);
    return code != ERR_OK ? code : add_row(rows, &one, err);
}

/* With election the count is an annotation of the lease, which is updated anyway. */
static int add_quarantine(struct rows *rows, const char *ns, struct err *err)
{
    const struct tt_kube_kind any = {"v1", "configmaps", ns, NULL, "create"};
    const struct tt_kube_kind one = {"v1", "configmaps", ns, QUARANTINE_CONFIG_MAP, "get,update"};
    int code = add_row(rows, &any, err);
    return code != ERR_OK ? code : add_row(rows, &one, err);
}

/* Watches, leases, and the other account. */
static int add_process(struct rows *rows, const struct rbac_input *in, struct err *err)
{
    const struct tt_provider *d = in->desc;
    int code = ERR_OK;

    if ((d->capabilities & TT_CAP_WANTS_ENDPOINTS) != 0 && is_needed(in, &slice_kind)) {
        code = add_row(rows, &slice_kind, err);
    }
    for (uint32_t i = 0; code == ERR_OK && i < d->n_leases; i++) {
        code = add_lease(rows, d->leases[i].ns, d->leases[i].name, err);
    }
    if (code == ERR_OK && in->lease_name != NULL) {
        code = add_lease(rows, in->lease_ns, in->lease_name, err);
    }
    if (code == ERR_OK && in->lease_name == NULL && in->quarantines) {
        code = add_quarantine(rows, in->lease_ns, err);
    }
    for (size_t i = 0; code == ERR_OK && in->splits && i < ARRAY_LEN(account_kinds); i++) {
        code = add_row(rows, &account_kinds[i], err);
    }
    return code;
}

/* Rights for the provider's requests through the host, and for its configuration. */
static int add_services(struct rows *rows, const struct rbac_input *in, struct err *err)
{
    const struct tt_provider *d = in->desc;
    const struct tt_kube_kind secret = {"v1", "secrets", in->secret_ns, in->secret_name, "get"};
    int code = ERR_OK;

    for (uint32_t i = 0; code == ERR_OK && i < d->n_kube_kinds; i++) {
        code = is_needed(in, &d->kube_kinds[i]) ? add_row(rows, &d->kube_kinds[i], err) : ERR_OK;
    }
    if (code == ERR_OK && in->secret_name != NULL) {
        code = add_row(rows, &secret, err);
    }
    return code;
}

static int add_all(struct rows *rows, const struct rbac_input *in, unsigned whose, struct err *err)
{
    int code = ERR_OK;

    for (size_t i = 0; code == ERR_OK && i < ARRAY_LEN(own_kinds); i++) {
        if ((own_kinds[i].whose & whose) != 0 &&
            (own_kinds[i].whose != RBAC_SERVICES || is_needed(in, &own_kinds[i].kind))) {
            code = add_row(rows, &own_kinds[i].kind, err);
        }
    }
    if (code == ERR_OK && (whose & RBAC_PROCESS) != 0) {
        code = add_process(rows, in, err);
    }
    if (code == ERR_OK && (whose & RBAC_SERVICES) != 0) {
        code = add_services(rows, in, err);
    }
    return code;
}

/* Does every request that `narrow` allows fit into the place of `wide`? */
static bool covers(const struct rbac_rule *wide, const struct rbac_rule *narrow)
{
    return wide != narrow && str_eq(wide->group, narrow->group) &&
           str_eq(wide->resources[0], narrow->resources[0]) &&
           (*wide->ns == '\0' || str_eq(wide->ns, narrow->ns)) &&
           (*wide->name == '\0' || str_eq(wide->name, narrow->name));
}

static void drop_covered(struct rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t k = 0; k < rows->n; k++) {
            if (covers(&rows->items[k], &rows->items[i])) {
                rows->items[i].verbs &= ~rows->items[k].verbs;
            }
        }
    }
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->items[i].verbs != 0) {
            rows->items[n++] = rows->items[i];
        }
    }
    rows->n = n;
}

/* Sorted rows: those of one place with the same verbs become one. */
static void join(struct rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        struct rbac_rule row = rows->items[i];
        size_t k = 0;
        while (k < n &&
               (cmp_place(&rows->items[k], &row) != 0 || rows->items[k].verbs != row.verbs)) {
            k++;
        }
        if (k == n) {
            const char *resource = row.resources[0];
            row.resources = ARENA_ARRAY(rows->a, const char *, rows->n);
            row.resources[0] = resource;
            rows->items[n++] = row;
        } else {
            struct rbac_rule *rule = &rows->items[k];
            rule->resources[rule->n_resources++] = row.resources[0];
        }
    }
    rows->n = n;
}

int rbac_rules(struct arena *a, const struct rbac_input *in, unsigned whose, struct rbac_rule **ret,
               size_t *ret_n, struct err *err)
{
    size_t most = ARRAY_LEN(own_kinds) + in->desc->n_kube_kinds + 2 * in->desc->n_leases + 12;
    struct rows rows = {.a = a, .items = ARENA_ARRAY(a, struct rbac_rule, most)};
    int code = add_all(&rows, in, whose, err);

    if (code != ERR_OK) {
        return code;
    }
    drop_covered(&rows);
    qsort(rows.items, rows.n, sizeof(*rows.items), cmp_row);
    join(&rows);
    *ret = rows.items;
    *ret_n = rows.n;
    return ERR_OK;
}
