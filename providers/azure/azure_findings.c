/* SPDX-License-Identifier: Apache-2.0 */
/* azure_findings.c: see azure_findings.h. */
#include "providers/azure/azure_findings.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_text.h"

#define INTERNAL AZURE_ANNOTATION_PREFIX "azure-load-balancer-internal"
#define LENIENT  "lenientInternal of the cloud-config"

/* Of controllers for other clouds, which a manifest may carry beside ours: the Service page of
 * Kubernetes' documentation ("internal load balancer") and the pages of these controllers. */
static const char *const others[] = {
    AZURE_ANNOTATION_PREFIX "alibaba-cloud-*",
    AZURE_ANNOTATION_PREFIX "alicloud-*",
    AZURE_ANNOTATION_PREFIX "aws-*",
    AZURE_ANNOTATION_PREFIX "brightbox-*",
    AZURE_ANNOTATION_PREFIX "cce-*",
    AZURE_ANNOTATION_PREFIX "cpx-*",
    AZURE_ANNOTATION_PREFIX "do-*",
    AZURE_ANNOTATION_PREFIX "exoscale-*",
    AZURE_ANNOTATION_PREFIX "gcp-*",
    AZURE_ANNOTATION_PREFIX "hcloud-*",
    AZURE_ANNOTATION_PREFIX "ibm-*",
    AZURE_ANNOTATION_PREFIX "linode-*",
    AZURE_ANNOTATION_PREFIX "oci-*",
    AZURE_ANNOTATION_PREFIX "openstack-*",
    AZURE_ANNOTATION_PREFIX "ovh-*",
    AZURE_ANNOTATION_PREFIX "scw-*",
    AZURE_ANNOTATION_PREFIX "upcloud-*",
    AZURE_ANNOTATION_PREFIX "vultr-*",
    NULL,
};

const struct lb_annotation_keys *azure_annotation_keys(struct arena *a)
{
    static const char *const prefixes[] = {AZURE_ANNOTATION_PREFIX, NULL};
    size_t n = 0;
    while (azure_annotation_table[n].name != NULL) {
        n++;
    }
    const char **known = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        known[i] = arena_printf(a, AZURE_ANNOTATION_PREFIX "%s", azure_annotation_table[i].name);
    }
    struct lb_annotation_keys *keys = ARENA_NEW(a, struct lb_annotation_keys);
    *keys = (struct lb_annotation_keys){.prefixes = prefixes, .known = known, .others = others};
    return keys;
}

/* Blocks of which Azure gives no public address: RFC 1918, 6598, 4193.  A private address of
 * another block is not known for one. */
static bool is_private(const char *text)
{
    static const char *const blocks[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                         "100.64.0.0/10", "fc00::/7"};
    struct ip_addr addr;
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(blocks) && text != NULL && ip_parse(text, &addr); i++) {
        struct ip_net net;
        found = found || (ip_net_parse(blocks[i], &net) && ip_net_contains(&net, &addr));
    }
    return found;
}

/* A load balancer that stands keeps upstream's reading, which makes a slip external.  An internal
 * one is none that upstream left with such a text: an edit would give its address up and make it
 * public. */
static bool is_public_by_slip(const struct tt_service *s)
{
    bool internal = s->n_ingress > 0;
    for (uint32_t i = 0; i < s->n_ingress; i++) {
        internal = internal && is_private(s->ingress[i].ip);
    }
    return lb_service_stands(s) && !internal;
}

int azure_internal_check(struct arena *a, const struct tt_service *s, bool lenient, struct err *err)
{
    const char *text = azure_annotation(s, "azure-load-balancer-internal");
    if (lenient || is_public_by_slip(s) || azure_text_true(text)) {
        return ERR_OK;
    }
    if (text != NULL && lb_text_means_private(a, text)) {
        return err_set(err, ERR_INVALID,
                       "annotation " INTERNAL ": \"%s\" is not understood and the Service would be "
                       "public; \"true\" was probably meant (want \"true\" or \"false\"; " LENIENT
                       " makes it public)",
                       lb_finding_value(a, text));
    }
    const struct tt_kv *slip = lb_private_slip(a, azure_annotation_keys(a), s, INTERNAL);
    return slip == NULL ? ERR_OK : lb_private_slip_refuse(slip, INTERNAL, LENIENT, err);
}
