/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_tags_rules.c: what the tags of a public IP say, and how a Service is written into them
 * (azure_pip_rules.h).
 *
 * Tags of older days are read, the modern ones are written.  Pure; docs/spec/azure.md
 * 8.4, 8.5, 8.7. */
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"

#include <stdlib.h>
#include <string.h>

/* ---- the service tag ------------------------------------------------------------------------- */

static const char *tag_text(struct json_object *tags, const char *key, const char *old_key)
{
    const char *text = json_str(tags, key);
    return text != NULL ? text : str_nonnull(json_str(tags, old_key));
}

const char *azure_pip_tag_services(struct json_object *tags)
{
    return tag_text(tags, AZURE_TAG_SERVICE, "service");
}

const char *azure_pip_tag_cluster(struct json_object *tags)
{
    return tag_text(tags, AZURE_TAG_CLUSTER, "kubernetes-cluster-name");
}

const char *azure_pip_tag_dns(struct json_object *tags)
{
    return tag_text(tags, AZURE_TAG_DNS, "kubernetes-dns-label-service");
}

/* Blank items keep no address (18 row 9). */
const char **azure_pip_services(struct arena *a, struct json_object *tags, size_t *ret_n)
{
    size_t n = 0;
    char **items = str_split(a, azure_pip_tag_services(tags), ',', &n);
    const char **names = ARENA_ARRAY(a, const char *, n + 1);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = str_trim_unicode(a, items[i]);
        if (name[0] != '\0') {
            names[(*ret_n)++] = name;
        }
    }
    return names;
}

static void set_text(struct json_object *tags, const char *key, const char *value)
{
    json_object_object_del(tags, key);
    json_add_str(tags, key, value);
}

bool azure_pip_bind(struct arena *a, struct json_object *tags, const char *const *names, size_t n)
{
    size_t n_have;
    const char **have = azure_pip_services(a, tags, &n_have);
    const char *text = arena_strdup(a, azure_pip_tag_services(tags));
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t k = 0; k < n_have && text[0] != '\0'; k++) {
            there = there || strcmp(have[k], names[i]) == 0;
        }
        if (!there) {
            text = text[0] == '\0' ? names[i] : arena_printf(a, "%s,%s", text, names[i]);
            changed = true;
        }
    }
    set_text(tags, AZURE_TAG_SERVICE, text);
    return changed;
}

int azure_pip_unbind(struct arena *a, struct json_object *tags, const char *name,
                     bool user_assigned, const char *const **ret_left, size_t *ret_n,
                     struct err *err)
{
    *ret_left = NULL;
    *ret_n = 0;
    if (tags == NULL) {
        return err_set(err, ERR_INVALID, "the public IP has no tags");
    }
    if (azure_eq(azure_pip_tag_dns(tags), name)) {
        json_object_object_del(tags, AZURE_TAG_DNS);
        json_object_object_del(tags, "kubernetes-dns-label-service");
    }
    if (user_assigned) {
        return ERR_OK;
    }
    const char **names = azure_pip_services(a, tags, ret_n);
    for (size_t i = *ret_n; i > 0; i--) {
        if (azure_eq(names[i - 1], name)) {
            memmove(&names[i - 1], &names[i], (*ret_n - i) * sizeof(*names));
            (*ret_n)--;
            break;
        }
    }
    *ret_left = names;
    set_text(tags, AZURE_TAG_SERVICE, str_join(a, names, *ret_n, ","));
    return ERR_OK;
}

/* ---- DNS ------------------------------------------------------------------------------------- */

int azure_pip_set_dns(struct arena *a, struct json_object *pip, const char *service,
                      const char *label, bool user_assigned, bool *ret_changed, struct err *err)
{
    struct json_object *tags = json_member(pip, "tags");
    const char *other = azure_pip_tag_dns(tags);
    (void)a;
    *ret_changed = false;
    if (other[0] != '\0' && !azure_eq(other, service)) {
        return err_set(
            err, ERR_IN_USE,
            "ensurePublicIPExists for service(%s): pip(%s) - there is an existing service "
            "%s consuming the DNS label on the public IP, so the service cannot set the "
            "DNS label annotation with this value",
            service, azure_doc_name(pip), other);
    }
    struct json_object *props = azure_props_make(pip);
    struct json_object *dns = json_member(props, "dnsSettings");
    if (label[0] == '\0') {
        *ret_changed = dns != NULL;
        json_object_object_del(props, "dnsSettings");
        return ERR_OK;
    }
    dns = azure_object_make(props, "dnsSettings");
    if (!azure_eq(str_nonnull(json_str(dns, "domainNameLabel")), label)) {
        set_text(dns, "domainNameLabel", label);
        *ret_changed = true;
    }
    if (other[0] == '\0' && !user_assigned) {
        set_text(azure_object_make(pip, "tags"), AZURE_TAG_DNS, service);
        *ret_changed = true;
    }
    return ERR_OK;
}

/* ---- IP tags --------------------------------------------------------------------------------- */

struct ip_tag {
    const char *type;
    const char *tag;
};

static int compare_ip_tags(const void *x, const void *y)
{
    const struct ip_tag *a = x;
    const struct ip_tag *b = y;
    int rc = strcmp(a->type, b->type);
    return rc != 0 ? rc : strcmp(a->tag, b->tag);
}

static struct json_object *ip_tags_array(struct arena *a, struct ip_tag *items, size_t n)
{
    struct json_object *array = azure_own(a, json_object_new_array());
    qsort(items, n, sizeof(*items), compare_ip_tags);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "ipTagType", items[i].type);
        json_add_str(o, "tag", items[i].tag);
        (void)json_object_array_add(array, o);
    }
    return array;
}

struct json_object *azure_ip_tags_parse(struct arena *a, const char *text)
{
    size_t n = 0, n_items = 0;
    char **pairs = str_split(a, text, ',', &n);
    struct ip_tag *items = ARENA_ARRAY(a, struct ip_tag, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t parts = 0;
        char **part = str_split(a, pairs[i], '=', &parts);
        if (parts != 2) {
            continue;
        }
        const char *type = str_trim_unicode(a, part[0]);
        size_t at = 0;
        while (at < n_items && strcmp(items[at].type, type) != 0) {
            at++;
        }
        items[at] = (struct ip_tag){.type = type, .tag = str_trim_unicode(a, part[1])};
        n_items += at == n_items;
    }
    return ip_tags_array(a, items, n_items);
}

struct json_object *azure_ip_tags_sorted(struct arena *a, struct json_object *array)
{
    struct ip_tag *items = ARENA_ARRAY(a, struct ip_tag, json_len(array) + 1);
    size_t n = 0;
    struct json_object *o;
    AZURE_EACH (o, array) {
        items[n++] = (struct ip_tag){.type = str_nonnull(json_str(o, "ipTagType")),
                                     .tag = str_nonnull(json_str(o, "tag"))};
    }
    return ip_tags_array(a, items, n);
}

bool azure_ip_tags_eq(struct arena *a, struct json_object *x, struct json_object *y)
{
    return json_equal(azure_ip_tags_sorted(a, x), azure_ip_tags_sorted(a, y));
}
