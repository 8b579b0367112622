/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_error_rules.c: which refusals of the cloud are the user's to mend.
 *
 * Google gives few of them a reason of their own, so upstream goes by texts, and so do we: status and text, as they
 * stand in gce-l4.md §4.14 and §8.4, vectors V214–V220.  Part of gce_l4_rules.h.  Pure. */
#include "providers/gce/gce_l4_rules.h"

#include "common/base/str.h"

#include <string.h>

static bool says(const char *message, const char *part)
{
    return strstr(message, part) != NULL;
}

/* "The network tier of external IP is STANDARD, that of Address must be the same." */
static bool is_tier_mismatch(const char *message)
{
    static const char before[] = "The network tier of external IP is ";
    const char *tier = strstr(message, before);
    if (tier == NULL) {
        return false;
    }
    tier += strlen(before);
    return (str_has_prefix(tier, "STANDARD") || str_has_prefix(tier, "PREMIUM")) &&
           says(tier, ", that of Address must be the same");
}

void gce_l4_error_of(int http_status, const char *message, struct gce_l4_error *ret)
{
    const char *m = str_nonnull(message);
    bool bad = http_status == 400;
    bool unsupported = bad && says(m, "is not supported");
    *ret = (struct gce_l4_error){
        .user =
            (bad &&
             says(m, "Requested internal IP address is outside the network/subnetwork range")) ||
            (http_status == 412 && says(m, "Constraint") && says(m, "violated")),
        .tier_mismatch = is_tier_mismatch(m),
        .no_strong_affinity = unsupported && says(m, "EnableStrongAffinity"),
        .no_rendezvous = unsupported && says(m, "GCP_RENDEZVOUS"),
        .ip_in_use =
            (bad && says(m, "Specified IP address is in-use and would result in a conflict")) ||
            (http_status == 409 && says(m, "IP_IN_USE_BY_ANOTHER_RESOURCE")),
        .ports_conflict =
            bad && says(m, "Forwarding rule's port range is conflicting with forwarding rule"),
        .one_group_per_instance = bad && (says(m, "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS") ||
                                          says(m, "at most one load-balanced instance group")),
    };
}
