/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4lb_config.c: see gce_l4lb_config.h. */
#include "providers/gce/backend/gce_l4lb_config.h"

#include "common/base/str.h"

static void judge(struct arena *a, const struct gce_kube_text *answer, struct gce_log_verdict *ret)
{
    if (answer->code == TT_NOT_FOUND) {
        *ret = (struct gce_log_verdict){.state = GCE_LOG_MISSING, .message = "it does not exist"};
    } else if (answer->code != TT_OK) {
        *ret = (struct gce_log_verdict){
            .state = GCE_LOG_FETCH_FAILED,
            .message = arena_printf(a, "it could not be read: %s", err_code_name(answer->code))};
    } else if (answer->o == NULL) {
        *ret = (struct gce_log_verdict){.state = GCE_LOG_FETCH_FAILED,
                                        .message = "it was answered with no JSON"};
    } else {
        gce_log_read(a, answer->o, ret);
    }
}

void gce_l4lb_config_get(struct gce_kube_texts *t, const struct tt_host *host,
                         const struct tt_call *call, struct arena *a, const struct tt_service *s,
                         struct gce_log_verdict *ret)
{
    const char *name = gce_log_config_name(s);
    *ret = (struct gce_log_verdict){0};
    if (name == NULL) {
        return;
    }
    const struct tt_kube_ref ref = {.api_version = GCE_L4LB_CONFIG_VERSION,
                                    .resource = GCE_L4LB_CONFIG_RESOURCE,
                                    .ns = s->ns,
                                    .name = name};
    const struct gce_kube_text answer = gce_kube_texts_get(t, host, call, a, &ref, true);
    judge(a, &answer, ret);
    ret->config = name;
}
