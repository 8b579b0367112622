/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c: finding flows in the tables (flows.h), which are one file per cloud and theme. */
#include "tests/fault/flows.h"

#include "common/base/str.h"

static const struct flow *const tables[] = {
    flows_gce,           flows_gce_l4,      flows_azure,          flows_azure_addresses,
    flows_azure_batches, flows_azure_blind, flows_azure_machines, flows_azure_moves,
    flows_azure_links,   flows_aws,         flows_aws_edits,      flows_aws_many,
    flows_aws_options};

const struct flow *flow_at(const char *cloud, size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        if (!str_eq(str_or(tables[t]->cloud, "gce"), str_or(cloud, "gce"))) {
            continue;
        }
        for (const struct flow *f = tables[t]; f->name != NULL; f++) {
            if (i-- == 0) {
                return f;
            }
        }
    }
    return NULL;
}

const struct flow *flow_find(const char *name)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct flow *f = tables[t]; f->name != NULL; f++) {
            if (str_eq(f->name, name)) {
                return f;
            }
        }
    }
    return NULL;
}
