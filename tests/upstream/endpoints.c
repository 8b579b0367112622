/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.c: an Endpoints object from JSON (endpoints.h). */
#include "tests/upstream/endpoints.h"

#include "common/base/str.h"
#include "common/services/decode/objects_meta.h"

struct raw_address {
    struct ks_subset_address at;
    struct ks_ref ref;
    bool has_ref;
};
struct raw_subset {
    struct raw_address *ready;
    struct raw_address *not_ready;
    struct ks_subset_port *ports;
    size_t n_ready;
    size_t n_not_ready;
    size_t n_ports;
};
struct raw_endpoints {
    struct ks_endpoints e;
    struct raw_subset *subsets;
    size_t n_subsets;
};

static const struct json_field address_fields[] = {
    KS_STR(struct raw_address, at.ip, "ip"),
    KS_STR(struct raw_address, at.hostname, "hostname"),
    KS_STR(struct raw_address, at.node_name, "nodeName"),
    {.name = "targetRef",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct raw_address, ref),
     .has_offset = offsetof(struct raw_address, has_ref),
     .sub = ks_ref_fields},
    {0},
};
static const struct json_field subset_port_fields[] = {
    KS_STR(struct ks_subset_port, name, "name"),
    KS_STR(struct ks_subset_port, protocol, "protocol"),
    KS_STR(struct ks_subset_port, app_protocol, "appProtocol"),
    KS_PORT(struct ks_subset_port, port, "port"),
    {0},
};
static const struct json_field subset_fields[] = {
    KS_LIST(struct raw_subset, ready, n_ready, "addresses", address_fields, struct raw_address),
    KS_LIST(struct raw_subset, not_ready, n_not_ready, "notReadyAddresses", address_fields,
            struct raw_address),
    KS_LIST(struct raw_subset, ports, n_ports, "ports", subset_port_fields, struct ks_subset_port),
    {0},
};
static const struct json_field endpoints_fields[] = {
    KS_SUB(struct raw_endpoints, e.meta, "metadata", ks_meta_fields),
    KS_LIST(struct raw_endpoints, subsets, n_subsets, "subsets", subset_fields, struct raw_subset),
    {0},
};

static const struct ks_subset_address *addresses_of(struct arena *a, struct raw_address *raw,
                                                    size_t n)
{
    struct ks_subset_address *ats = n == 0 ? NULL : ARENA_ARRAY(a, struct ks_subset_address, n);
    for (size_t i = 0; i < n; i++) {
        ats[i] = raw[i].at;
        ks_fill(&ats[i].ip);
        ks_fill(&ats[i].hostname);
        if (raw[i].has_ref) {
            ks_ref_filled(&raw[i].ref);
            ats[i].ref = arena_memdup(a, &raw[i].ref, sizeof(raw[i].ref));
        }
    }
    return ats;
}

static struct ks_subset subset_of(struct arena *a, struct raw_subset *raw)
{
    for (size_t i = 0; i < raw->n_ports; i++) {
        ks_fill(&raw->ports[i].name);
        raw->ports[i].protocol =
            str_is_empty(raw->ports[i].protocol) ? "TCP" : raw->ports[i].protocol;
    }
    return (struct ks_subset){.ready = addresses_of(a, raw->ready, raw->n_ready),
                              .not_ready = addresses_of(a, raw->not_ready, raw->n_not_ready),
                              .ports = raw->ports,
                              .n_ready = raw->n_ready,
                              .n_not_ready = raw->n_not_ready,
                              .n_ports = raw->n_ports};
}

int ks_endpoints_decode(struct arena *a, struct json_object *o, const char *where,
                        const struct ks_endpoints **ret, struct err *err)
{
    struct raw_endpoints raw = {.e = {.meta = ks_meta_empty}};
    int rc = json_decode(a, o, endpoints_fields, &raw, JSON_SKIP_UNKNOWN, where, err);
    if (rc != ERR_OK) {
        return rc;
    }
    ks_meta_filled(&raw.e.meta);
    struct ks_subset *subsets =
        raw.n_subsets == 0 ? NULL : ARENA_ARRAY(a, struct ks_subset, raw.n_subsets);
    for (size_t i = 0; i < raw.n_subsets; i++) {
        subsets[i] = subset_of(a, &raw.subsets[i]);
    }
    raw.e.subsets = subsets;
    raw.e.n_subsets = raw.n_subsets;
    *ret = arena_memdup(a, &raw.e, sizeof(raw.e));
    return ERR_OK;
}
