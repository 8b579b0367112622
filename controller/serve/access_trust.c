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
        sk_X509_NAME_pop_free(t->names, X509_NAME_free);
        arena_free(t->a);
        free(t);
    }
}

/* --- the ConfigMap --------------------------------------------------------------------------------- */

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

int access_config_read(struct arena *a, struct json_object *data, struct access_config *ret,
                       struct err *err)
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
        int rc = read_list(a, data, lists[i].key, lists[i].list, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    *ret = out;
    return ERR_OK;
}

/* --- building -------------------------------------------------------------------------------------- */

static struct option_list copy_list(struct arena *a, const struct option_list *from)
{
    const char **items = ARENA_ARRAY(a, const char *, from->n);
    for (size_t i = 0; i < from->n; i++) {
        items[i] = arena_strdup(a, from->items[i]);
    }
    return (struct option_list){.items = items, .n = from->n};
}

static void copy_headers(struct access_trust *t, const struct access_header_names *from)
{
    t->headers = (struct access_header_names){
        .user = copy_list(t->a, &from->user),
        .uid = copy_list(t->a, &from->uid),
        .groups = copy_list(t->a, &from->groups),
        .extra = copy_list(t->a, &from->extra),
        .allowed = copy_list(t->a, &from->allowed),
    };
}

/* Takes a bundle; "" and NULL: there is none.  Its names join those of the handshake. */
static int add_cas(struct access_trust *t, const char *pem, const char *whose, X509_STORE **ret,
                   struct err *err)
{
    STACK_OF(X509_NAME) *names = NULL;
    if (str_is_empty(pem)) {
        return ERR_OK;
    }
    int rc = access_cas_parse(pem, strlen(pem), ret, &names, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s", whose);
        return rc;
    }
    while (sk_X509_NAME_num(names) > 0) {
        if (sk_X509_NAME_push(t->names, sk_X509_NAME_shift(names)) == 0) {
            abort(); /* out of memory */
        }
    }
    sk_X509_NAME_free(names);
    return ERR_OK;
}

int access_trust_new(const struct access_trust_parts *parts, struct access_trust **ret,
                     struct err *err)
{
    const struct access_config none = {0};
    const struct access_config *config = parts->config == NULL ? &none : parts->config;
    bool proxy_by_flag = parts->proxy_ca != NULL;
    struct counted *x = xcalloc(1, sizeof *x);
    struct access_trust *t = &x->trust;
    atomic_init(&x->refs, 1);
    t->a = arena_new();
    t->names = sk_X509_NAME_new_null();
    if (t->names == NULL) {
        abort(); /* out of memory */
    }
    copy_headers(t, proxy_by_flag ? parts->headers : &config->headers);
    int rc = add_cas(t, parts->client_ca != NULL ? parts->client_ca : config->client_ca,
                     parts->client_ca != NULL ? "--client-ca-file" : "client-ca-file",
                     &t->client_cas, err);
    if (rc == ERR_OK) {
        rc = add_cas(t, proxy_by_flag ? parts->proxy_ca : config->proxy_ca,
                     proxy_by_flag ? "--requestheader-client-ca-file"
                                   : "requestheader-client-ca-file",
                     &t->proxy_cas, err);
    }
    if (rc != ERR_OK) {
        access_trust_unref(t);
        return rc;
    }
    *ret = t;
    return ERR_OK;
}
