/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ilb_names.c: see gce_ilb_names.h. */
#include "providers/gce/model/gce_ilb_names.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_service_rules.h"

#include <openssl/sha.h>
#include <string.h>

#define HASH_BYTES 8 /* of SHA-1, 16 hex digits */

const char *gce_ilb_protocol(const struct tt_service *s)
{
    return s->n_ports == 0 ? "UDP" : str_or(s->ports[0].protocol, "TCP");
}

/* A backend service can only be shared by Services of one protocol and one affinity. */
static char *shared_backend(struct arena *a, const struct tt_service *s, const char *cluster_id)
{
    static const char digits[] = "0123456789abcdef";
    const char *affinity = str_nonnull(s->session_affinity);
    unsigned char sum[SHA_DIGEST_LENGTH];
    char hash[2 * HASH_BYTES + 1];
    SHA1((const unsigned char *)affinity, strlen(affinity), sum);
    for (size_t i = 0; i < HASH_BYTES; i++) {
        hash[2 * i] = digits[sum[i] >> 4];
        hash[2 * i + 1] = digits[sum[i] & 0xf];
    }
    hash[2 * HASH_BYTES] = '\0';
    return arena_printf(a, "k8s-%s-internal-%s-nmv1-%s", cluster_id,
                        str_lower(a, gce_ilb_protocol(s)), hash);
}

void gce_ilb_names_make(struct arena *a, const struct tt_service *s, const char *cluster_id,
                        struct gce_ilb_names *ret)
{
    const char *lb = svc_default_lb_name(a, str_nonnull(s->uid));
    const char *key = arena_printf(a, "%s/%s", str_nonnull(s->ns), str_nonnull(s->name));
    struct gce_ilb_names n = {
        .lb = lb,
        .description = gce_names_service_description(a, key),
        .shared_backend = shared_backend(a, s, cluster_id),
        .shared_check = arena_printf(a, "k8s-%s-node", cluster_id),
        .shared_check_firewall = arena_printf(a, "k8s-%s-node-hc", cluster_id),
        .local_check_firewall = arena_printf(a, "%s-hc", lb),
        .firewall = arena_printf(a, "k8s-fw-%s", lb),
        .legacy_firewall = lb,
        .group = str_is_empty(cluster_id) ? "k8s-ig" : arena_printf(a, "k8s-ig--%s", cluster_id),
        .backend_is_shared = gce_svc_shares_backend_service(s),
        .check_is_shared = !svc_only_local_traffic(s),
    };
    n.backend = n.backend_is_shared ? n.shared_backend : lb;
    n.backend_description = n.backend_is_shared ? "" : n.description;
    n.check = n.check_is_shared ? n.shared_check : lb;
    n.check_description = n.check_is_shared ? "" : n.description;
    n.check_firewall = n.check_is_shared ? n.shared_check_firewall : n.local_check_firewall;
    *ret = n;
}
