/* SPDX-License-Identifier: Apache-2.0 */
/* access_trust.c: see access_trust.h.  A trust is put together here and nowhere else. */
#include "controller/serve/access_trust.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/serve/access_cert.h"

#define HEADER_NAME_MAX 256

struct counted {
    struct access_trust trust; /* first */
    atomic_size_t refs;
};

struct access_trust *access_trust_ref(struct access_trust *t)
{
    (void)atomic_fetch_add(&((struct counted *)t)->refs, 1); /* the old value says nothing */
    return t;
}

void access_trust_unref(struct access_trust *t)
{
    if (t != NULL && atomic_fetch_sub(&((struct counted *)t)->refs, 1) == 1) {
        X509_STORE_free(t->client_cas);
        X509_STORE_free(t->proxy_cas);
        sk_X509_NAME_pop_free(t->client_names, X509_NAME_free);
        sk_X509_NAME_pop_free(t->proxy_names, X509_NAME_free);
        arena_free(t->a);
        free(t);
    }
}

/* --- the ConfigMap ---------------------------------------------------------------------------- */

static int read_list(struct arena *a, struct json_object *data, const char *key,
                     struct option_list *ret, struct err *err)
{
    struct json_object *list = NULL;
    const char *text = json_str(data, key);
    if (str_is_empty(text)) {
        return ERR_OK;
    }
    const struct json_limits limits = {.max_bytes = 64 << 10, .max_depth = 4, .max_values = 1000};
    if (json_parse_arena(a, text, strlen(text), &limits, &list, NULL) != ERR_OK ||
        !json_object_is_type(list, json_type_array) || json_len(list) > ACCESS_HEADERS_MAX) {
        return err_set(err, ERR_INVALID, "%s: want a JSON array of at most %d strings", key,
                       ACCESS_HEADERS_MAX);
    }
    const char **items = ARENA_ARRAY(a, const char *, json_len(list));
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *name = json_object_is_type(item, json_type_string)
                               ? str_trim(a, json_object_get_string(item))
                               : "";
        if (name[0] == '\0' || strlen(name) > HEADER_NAME_MAX) {
            return err_set(err, ERR_INVALID, "%s: item %zu is no name", key, i);
        }
        items[i] = name;
    }
    *ret = (struct option_list){.items = items, .n = json_len(list)};
    return ERR_OK;
}

struct access_config access_config_read(struct arena *a, struct json_object *data)
{
    struct access_config out = {
        .client_ca = arena_strdup(a, json_str(data, "client-ca-file")),
        .proxy_ca = arena_strdup(a, json_str(data, "requestheader-client-ca-file")),
    };
    const struct {
        const char *key;
        struct option_list *list;
    } lists[] = {
        {"requestheader-username-headers", &out.headers.user},
        {"requestheader-uid-headers", &out.headers.uid},
        {"requestheader-group-headers", &out.headers.groups},
        {"requestheader-extra-headers-prefix", &out.headers.extra},
        {"requestheader-allowed-names", &out.headers.allowed},
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (read_list(a, data, lists[i].key, lists[i].list, &out.fault) != ERR_OK) {
            break;
        }
    }
    return out;
}

/* --- building --------------------------------------------------------------------------------- */

static struct option_list copy_list(struct arena *a, const struct option_list *from)
{
    const char **items = ARENA_ARRAY(a, const char *, from->n);
    for (size_t i = 0; i < from->n; i++) {
        items[i] = arena_strdup(a, from->items[i]);
    }
    return (struct option_list){.items = items, .n = from->n};
}

static struct access_header_names copy_headers(struct arena *a,
                                               const struct access_header_names *from)
{
    return (struct access_header_names){
        .user = copy_list(a, &from->user),
        .uid = copy_list(a, &from->uid),
        .groups = copy_list(a, &from->groups),
        .extra = copy_list(a, &from->extra),
        .allowed = copy_list(a, &from->allowed),
    };
}

static STACK_OF(X509_NAME) * copy_names(const STACK_OF(X509_NAME) * from)
{
    STACK_OF(X509_NAME) *names =
        from == NULL
            ? sk_X509_NAME_new_null()
            : sk_X509_NAME_deep_copy(from, (sk_X509_NAME_copyfunc)X509_NAME_dup, X509_NAME_free);
    if (names == NULL) {
        out_of_memory(0);
    }
    return names;
}

static X509_STORE *share(X509_STORE *cas)
{
    if (cas != NULL && X509_STORE_up_ref(cas) != 1) {
        abort(); /* its counter is broken */
    }
    return cas;
}

/* A bundle; "" and NULL if there is none. */
static int read_cas(const char *pem, const char *whose, X509_STORE **ret,
                    STACK_OF(X509_NAME) * *ret_names, struct err *err)
{
    if (str_is_empty(pem)) {
        *ret = NULL;
        *ret_names = copy_names(NULL);
        return ERR_OK;
    }
    int rc = access_cas_parse(pem, strlen(pem), ret, ret_names, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s", whose);
    }
    return rc;
}

static void build_client(struct access_trust *t, const struct access_trust_parts *parts,
                         const struct access_config *config, struct err *fault)
{
    bool by_flag = parts->client_ca != NULL;
    const struct access_trust *old = parts->old;
    if (read_cas(by_flag ? parts->client_ca : config->client_ca,
                 by_flag ? "--client-ca-file" : "client-ca-file", &t->client_cas, &t->client_names,
                 fault) != ERR_OK) {
        t->client_cas = share(old == NULL ? NULL : old->client_cas);
        t->client_names = copy_names(old == NULL ? NULL : old->client_names);
    }
}

static void build_proxy(struct access_trust *t, const struct access_trust_parts *parts,
                        const struct access_config *config, struct err *fault)
{
    bool by_flag = parts->proxy_ca != NULL;
    const struct access_trust *old = parts->old;
    int rc = by_flag ? ERR_OK : err_copy(fault, &config->fault);
    if (rc == ERR_OK) {
        rc = read_cas(by_flag ? parts->proxy_ca : config->proxy_ca,
                      by_flag ? "--requestheader-client-ca-file" : "requestheader-client-ca-file",
                      &t->proxy_cas, &t->proxy_names, fault);
    }
    if (rc == ERR_OK) {
        t->headers = copy_headers(t->a, by_flag ? parts->headers : &config->headers);
        return;
    }
    t->proxy_cas = share(old == NULL ? NULL : old->proxy_cas);
    t->proxy_names = copy_names(old == NULL ? NULL : old->proxy_names);
    const struct access_header_names none = {0};
    t->headers = copy_headers(t->a, old == NULL ? &none : &old->headers);
}

struct access_trust *access_trust_new(const struct access_trust_parts *parts,
                                      struct access_trust_faults *ret)
{
    const struct access_config none = {0};
    const struct access_config *config = parts->config == NULL ? &none : parts->config;
    struct counted *x = xcalloc(1, sizeof *x);
    atomic_init(&x->refs, 1);
    x->trust.a = arena_new();
    *ret = (struct access_trust_faults){0};
    build_client(&x->trust, parts, config, &ret->client);
    build_proxy(&x->trust, parts, config, &ret->proxy);
    return &x->trust;
}
