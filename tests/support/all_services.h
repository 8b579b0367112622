/* SPDX-License-Identifier: Apache-2.0 */
/* all_services.h: service() and services_since() of a host that a test made, from its services().
 *
 * services_since() hands over all Services each time, as a host may.  ALL_SERVICES(fn)
 * defines both functions. */
#ifndef TRIMTAB_TESTS_ALL_SERVICES_H
#define TRIMTAB_TESTS_ALL_SERVICES_H

#include <string.h>
#include <trimtab/provider.h>

static inline const struct tt_service *all_services_find(const struct tt_service *const *all,
                                                         uint32_t n, const char *ns,
                                                         const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(all[i]->ns, ns) == 0 && strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

static inline int32_t all_services_tell(const struct tt_service *const *all, uint32_t n,
                                        uint64_t *version, const struct tt_service_sink *each)
{
    for (uint32_t i = 0; i < n; i++) {
        each->put(each->arg, all[i]->ns, all[i]->name, all[i]);
    }
    *version = 1;
    return 1;
}

#define ALL_SERVICES(services)                                                                     \
    static const struct tt_service *service_of_all(                                                \
        struct tt_host_ctx *ctx, const struct tt_call *call, const char *ns, const char *name)     \
    {                                                                                              \
        const struct tt_service *const *all = NULL;                                                \
        uint32_t n = 0;                                                                            \
        services(ctx, call, &all, &n);                                                             \
        return all_services_find(all, n, ns, name);                                                \
    }                                                                                              \
    static int32_t services_since_all(struct tt_host_ctx *ctx, const struct tt_call *call,         \
                                      uint64_t *version, const struct tt_service_sink *each)       \
    {                                                                                              \
        const struct tt_service *const *all = NULL;                                                \
        uint32_t n = 0;                                                                            \
        services(ctx, call, &all, &n);                                                             \
        return all_services_tell(all, n, version, each);                                           \
    }

#endif
