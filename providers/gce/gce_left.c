/* SPDX-License-Identifier: Apache-2.0 */
/* gce_left.c: Services with NEGs alone that went while no process watched (list_left, provider.h).
 *
 * Such a Service bears no finalizer, as upstream has it; what remembers it is the
 * ServiceNetworkEndpointGroup beside it, which has one (gce-l4.md §6.4).  All of them are reported:
 * the controller ignores those whose Service exists.  A Service that only lost its type may have
 * lost that object already, and still say that it has NEGs. */
#include "common/base/str.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_svcneg_rules.h"

struct telling {
    const struct tt_host *host;
    const struct tt_call *call;
};

static void tell(void *arg, const char *text, size_t n)
{
    const struct telling *t = arg;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (json_parse(text, n, NULL, &o, NULL) != ERR_OK) {
        return;
    }
    const char *name = gce_svcneg_service_of(o);
    const char *ns = json_str(json_member(o, "metadata"), "namespace");
    const struct tt_service gone = {
        .size = sizeof(gone),
        .ns = ns,
        .name = name,
        .uid = str_nonnull(gce_svcneg_owner_of(o)),
        .type = "LoadBalancer",
        .lb_class = GCE_CLASS_STANDALONE,
    };
    if (name != NULL && ns != NULL) {
        t->host->report_left(t->host->ctx, t->call, &gone);
    }
}

/* Services with signs of NEGs that need none. */
static void tell_unwanted(const struct gce_provider *p, const struct tt_call *call)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    p->cloud.host->services(p->cloud.host->ctx, call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct gce_case c = {.service = all[i], .flags = &p->options.switches};
        struct gce_decision d;
        gce_decide(&c, &d);
        if (d.teardown && d.kind == GCE_KIND_NEGS_ONLY) {
            p->cloud.host->report_left(p->cloud.host->ctx, call, all[i]);
        }
    }
}

int32_t gce_list_left(void *provider, const struct tt_call *call)
{
    const struct gce_provider *p = provider;
    const struct tt_kube_ref ref = {.api_version = GCE_SVCNEG_VERSION,
                                    .resource = GCE_SVCNEG_RESOURCE};
    struct telling t = {.host = p->cloud.host, .call = call};
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = tell, .arg = &t};
    if (!p->options.switches.standalone_negs || !TT_HAS(p->cloud.host, report_left)) {
        return TT_OK;
    }
    tell_unwanted(p, call);
    int32_t code =
        p->cloud.host->kube_each(p->cloud.host->ctx, call, &ref, GCE_SVCNEG_SELECTOR, &sink);
    bool absent = code == TT_NOT_FOUND || code == TT_FORBIDDEN; /* nothing is remembered there */
    return absent ? TT_OK : code;
}
