/* SPDX-License-Identifier: Apache-2.0 */
/* azure_name_rules.c: see azure_name_rules.h.  One row for each kind of name, one
 * for each annotation. */
#include "providers/azure/model/azure_name_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_service.h"
#include "providers/azure/model/azure_text.h"

#define ALNUM "a-zA-Z0-9"
#define NETWORK_PATTERN                                                                            \
    "1 to 80 letters, digits, '_', '.' and '-'; begins with a letter or digit, ends with one or "  \
    "'_'"

static const struct name_rule rules[AZURE_NAME_KINDS] = {
    [AZURE_NAME_RESOURCE] = {"the name of a network resource", NETWORK_PATTERN, 1, 80, ALNUM,
                             ALNUM "_.-", ALNUM "_", false},
    [AZURE_NAME_GROUP] = {"the name of a resource group",
                          "1 to 90 letters, digits, '_', '-', '.', '(' and ')'; does not end with "
                          "'.'",
                          1, 90, ALNUM "_.()-", ALNUM "_.()-", ALNUM "_()-", true},
    [AZURE_NAME_SET] = {"the name of an availability set or scale set", NETWORK_PATTERN, 1, 80,
                        ALNUM, ALNUM "_.-", ALNUM "_", false},
    [AZURE_NAME_PREFIX] = {"the ID of a public IP prefix",
                           "/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/"
                           "publicIPPrefixes/…",
                           1, 80, ALNUM, ALNUM "_.-", ALNUM "_", false},
    [AZURE_NAME_LABEL] = {"a DNS label",
                          "3 to 63 small letters, digits and '-'; begins with a letter, ends with "
                          "a letter or digit",
                          3, 63, "a-z", "a-z0-9-", "a-z0-9", false},
    [AZURE_NAME_FQDN] = {"a domain name", "1 to 253 letters, digits, '-', '_', '*' and '.'", 1, 253,
                         ALNUM "_*", ALNUM "_*.-", ALNUM, false},
    [AZURE_NAME_SUBSCRIPTION] = {"the ID of a subscription", "letters, digits and '-'", 1, 64,
                                 ALNUM, ALNUM "-", ALNUM, false},
    [AZURE_NAME_SERVICE_TAG] = {"a service tag", "letters, digits, '.', '_' and '-'", 1, 120, ALNUM,
                                ALNUM "._-", ALNUM, false},
    [AZURE_NAME_TAG] = {"the name of a tag",
                        "1 to 512 characters without '<', '>', '%', '&', '\\', '?' and '/'", 1, 512,
                        " !-$'-.0-;=@-[]-~", " !-$'-.0-;=@-[]-~", " !-$'-.0-;=@-[]-~", true},
};

#define FIELD(name, kind_, separator_, word_)                                                      \
    {                                                                                              \
        .key = AZURE_ANNOTATION_PREFIX name, .rule = &rules[AZURE_NAME_##kind_],                   \
        .separator = (separator_), .word = (word_), .kind = AZURE_NAME_##kind_                     \
    }
/* Upstream, and azure_service.c, cut no blanks off these. */
#define LITERAL(name, kind_)                                                                       \
    {                                                                                              \
        .key = AZURE_ANNOTATION_PREFIX name, .rule = &rules[AZURE_NAME_##kind_],                   \
        .kind = AZURE_NAME_##kind_, .literal = true                                                \
    }
#define PREFIX(name)                                                                               \
    {                                                                                              \
        .key = AZURE_ANNOTATION_PREFIX name, .kind = AZURE_NAME_PREFIX, .literal = true            \
    }

static const struct name_field fields[] = {
    FIELD("azure-load-balancer-internal-subnet", RESOURCE, '\0', NULL),
    FIELD("azure-load-balancer-resource-group", GROUP, '\0', NULL),
    FIELD("azure-load-balancer-mode", SET, ',', "__auto__"),
    LITERAL("azure-pip-name", RESOURCE),
    LITERAL("azure-pip-name-ipv6", RESOURCE),
    PREFIX("azure-pip-prefix-id"),
    PREFIX("azure-pip-prefix-id-ipv6"),
    FIELD("azure-pip-tags", TAG, '=', NULL),
    FIELD("azure-pip-ip-tags", TAG, '=', NULL),
    LITERAL("azure-dns-label-name", LABEL),
    FIELD("azure-allowed-service-tags", SERVICE_TAG, ',', NULL),
    FIELD("azure-pls-resource-group", GROUP, '\0', NULL),
    FIELD("azure-pls-name", RESOURCE, '\0', NULL),
    FIELD("azure-pls-ip-configuration-subnet", RESOURCE, '\0', NULL),
    FIELD("azure-pls-fqdns", FQDN, ' ', NULL),
    FIELD("azure-pls-visibility", SUBSCRIPTION, ' ', "*"),
    FIELD("azure-pls-auto-approval", SUBSCRIPTION, ' ', NULL),
};

const struct name_rule *azure_name_rule(enum azure_name_kind k)
{
    return &rules[k];
}

bool azure_name_is_segment(const char *text)
{
    return url_segment_fault(text) == NULL;
}

bool azure_name_is_id(const char *text)
{
    _cleanup_(str_buf_done) struct str_buf part = STR_BUF_INIT;
    for (const char *p = str_nonnull(text); *p != '\0';) {
        size_t n = strcspn(p, "/");
        str_buf_reset(&part);
        str_append_n(&part, p, n);
        /* One that names nothing, as behind a last slash, leads nowhere. */
        if (n > 0 && !azure_name_is_segment(str_buf_text(&part))) {
            return false;
        }
        p += n + (p[n] == '/');
    }
    return !str_is_empty(text);
}

/* ---- what the cloud-config allows ------------------------------------------------------------ */

struct check {
    struct arena *a;
    const struct azure_config *c;
};

/* The configured groups and subscriptions are the cluster's own. */
static int check_group(const struct check *k, const struct name_seen *seen, const char *group,
                       struct err *err)
{
    const struct azure_config *c = k->c;
    const char *const own[] = {c->resource_group, c->lb_resource_group, c->pls_resource_group,
                               c->vnet_resource_group};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (azure_eq(own[i], group)) {
            return ERR_OK;
        }
    }
    return name_list_allows(&c->allowed_groups, group, true)
               ? ERR_OK
               : name_not_allowed(seen, group, "resource group", "allowedResourceGroups", err);
}

static int check_subscription(const struct check *k, const struct name_seen *seen, const char *id,
                              struct err *err)
{
    const struct azure_config *c = k->c;
    bool own = azure_eq(c->subscription_id, id) || azure_eq(c->network_subscription_id, id);
    return own || name_list_allows(&c->allowed_subscriptions, id, true)
               ? ERR_OK
               : name_not_allowed(seen, id, "subscription", "allowedSubscriptions", err);
}

static int check_prefix(const struct check *k, const struct name_seen *seen, struct err *err)
{
    static const char *const words[] = {"",
                                        "subscriptions",
                                        NULL,
                                        "resourceGroups",
                                        NULL,
                                        "providers",
                                        "Microsoft.Network",
                                        "publicIPPrefixes",
                                        NULL};
    const struct name_rule *r = &rules[AZURE_NAME_PREFIX];
    size_t n;
    char **parts = str_split(k->a, seen->name, '/', &n);
    bool whole = n == ARRAY_LEN(words);
    for (size_t i = 0; whole && i < n; i++) {
        whole = words[i] == NULL || azure_eq(words[i], parts[i]);
    }
    whole = whole && name_rule_holds(&rules[AZURE_NAME_SUBSCRIPTION], parts[2]) &&
            name_rule_holds(&rules[AZURE_NAME_GROUP], parts[4]) && name_rule_holds(r, parts[8]);
    if (!whole && (seen->state == NAME_IS_NEW || !azure_name_is_id(seen->name))) {
        return err_set(err, ERR_INVALID, "%s: \"%.500s\": want %s (%s)", seen->where, seen->name,
                       r->what, r->pattern);
    }
    int rc = check_subscription(k, seen,
                                str_nonnull(azure_id_part(k->a, seen->name, "subscriptions")), err);
    return rc == ERR_OK ? check_group(k, seen, str_nonnull(azure_id_group(k->a, seen->name)), err)
                        : rc;
}

static int also(void *arg, const struct name_seen *seen, struct err *err)
{
    const struct check *k = arg;
    switch (seen->field->kind) {
    case AZURE_NAME_PREFIX:
        return check_prefix(k, seen, err);
    case AZURE_NAME_GROUP:
        return check_group(k, seen, seen->name, err);
    case AZURE_NAME_SUBSCRIPTION:
        return check_subscription(k, seen, seen->name, err);
    default:
        return ERR_OK;
    }
}

static bool counts(void *arg, const struct name_field *field, const struct tt_service *s)
{
    const struct check *k = arg;
    const char *name = field->key + strlen(AZURE_ANNOTATION_PREFIX);
    if (str_eq(name, "azure-load-balancer-internal-subnet")) {
        return azure_service_is_internal(s);
    }
    if (str_eq(name, "azure-load-balancer-mode")) {
        return !k->c->standard_sku;
    }
    return !str_has_prefix(name, "azure-pls-") ||
           azure_text_true(azure_annotation(s, "azure-pls-create"));
}

int azure_names_check(struct arena *a, const struct azure_config *c, const struct tt_service *s,
                      const struct tt_service *previous, struct err *err)
{
    struct check k = {.a = a, .c = c};
    const struct name_fields all = {.provider = AZURE_PROVIDER,
                                    .fields = fields,
                                    .n = ARRAY_LEN(fields),
                                    .also = also,
                                    .counts = counts,
                                    .arg = &k};
    return names_check(a, &all, s, previous, err);
}
