# SPDX-License-Identifier: Apache-2.0
"""Faults for seeded_test.py: a change of one source file of the product, the edit that shows it, and the finding of fault-edits.

`old` stands exactly once in `file`.  A change of that place in the product needs a change of the seed."""
import collections

# `edit` are arguments of fault-edits; `found` is a regular expression for one of its findings ("# FOUND: E6 aws-nlb spec.ports …: …").
Seed = collections.namedtuple("Seed", "name cloud file old new edit found")

SEEDS = [
    # ---- a rule less -----------------------------------------------------------------------------
    Seed("gce-firewall-port-less", "gce", "providers/gce/target_pool/gce_target_pool_desired.c",
         "gce_svc_port_ranges(a, in->service)),\n        .priority", 'gce_strs_one(a, "80")),\n        .priority',
         ["--kind", "gce-target-pool", "--field", "spec.ports", "--value", "8443"], r"E6 .*TCP/8443 .* is served to nobody"),
    Seed("gce-firewall-not-made", "gce", "providers/gce/backend/gce_l4_firewalls_desired.c",
         "side->wanted && !flags->disable_firewall && open;", "side->wanted && w->ranges.v4.n < 2 && open;",
         ["--kind", "gce-external-group", "--field", "spec.loadBalancerSourceRanges", "--value", "10.0.0.0/8"], r"E6 .*TCP/80 .*is served to"),
    Seed("aws-rule-of-last-port-less", "aws", "providers/aws/rules/aws_node_group_rules.c",
         "i < w->n_ports; i++) {\n        add_clients(", "i < w->n_ports && i < 2; i++) {\n        add_clients(",
         ["--kind", "aws-nlb", "--field", "spec.ports", "--value", "more"], r"E6 .*TCP/444 .* is served to nobody"),
    Seed("azure-rule-of-ranges-less", "azure", "providers/azure/nsg/azure_nsg_desired.c",
         "if (rc == ERR_OK && s->ranges[f].n > 0) {", "if (rc == ERR_OK && s->ranges[f].n == 1) {",
         ["--kind", "azure-external", "--field", "spec.loadBalancerSourceRanges", "--value", "10.0.0.0/8"], r"E1 .*TCP/80 .*is not served"),
    # ---- a target less ---------------------------------------------------------------------------
    Seed("gce-target-skipped", "gce", "providers/gce/target_pool/gce_target_pool_emit_plan.c",
         "struct str_set add = str_set_minus(e->a, then, now);", "struct str_set add = str_set_minus(e->a, then, now);\n    add.n -= add.n > 0;",
         ["--kind", "gce-target-pool", "--field", "spec.sessionAffinity", "--value", "ClientIP"], r"E3 .*a node came"),
    Seed("aws-target-skipped", "aws", "providers/aws/rules/aws_target_rules.c",
         "tidy(&want);", "tidy(&want);\n    want.n -= want.n > 2;",
         ["--kind", "aws-nlb", "--field", "spec.loadBalancerSourceRanges", "--value", '["192.0.2.0/24"]'], r"E3 .*a node came"),
    Seed("azure-target-skipped", "azure", "providers/azure/members/azure_members_rules.c",
         "return p->spread == NULL || p->spread[node];", "return node != 0 && (p->spread == NULL || p->spread[node]);",
         ["--kind", "azure-external", "--field", "spec.loadBalancerSourceRanges", "--value", '["192.0.2.0/24"]'], r"E3 .*a node came"),
    # ---- clients that may not come in, or may no longer -------------------------------------------
    Seed("azure-deny-before-allow", "azure", "providers/azure/nsg/azure_nsg_rules.c",
         "deny ? AZURE_NSG_PRIORITY_MAX - 1 - i : AZURE_NSG_PRIORITY_MIN + i", "deny ? AZURE_NSG_PRIORITY_MIN + i : AZURE_NSG_PRIORITY_MAX - 1 - i",
         ["--kind", "azure-external", "--field", "*deny-all*", "--value", "true",
          "--and-field", "spec.loadBalancerSourceRanges", "--and-value", '["192.0.2.0/24"]'],
         r"E1 .*TCP/80 .* is not served to"),
    Seed("gce-ranges-widened", "gce", "providers/gce/backend/gce_l4_firewalls_desired.c",
         "    if (ret->n > 0) {\n        return true;",
         '    if (ret->n > 1) {\n        *ret = gce_strs_one(w->a, "0.0.0.0/0");\n    }\n    if (ret->n > 0) {\n        return true;',
         ["--kind", "gce-external-neg", "--field", "spec.loadBalancerSourceRanges", "--value", "10.0.0.0/8"], r"E6 .*is served to .*0\.0\.0\.0/0"),
    Seed("aws-ranges-stay", "aws", "providers/aws/rules/aws_group_rules.c",
         ".revoke = aws_rules_minus(a, actual, desired)}", ".revoke = {0}}",
         ["--kind", "aws-classic", "--field", "spec.loadBalancerSourceRanges", "--value", '["192.0.2.0/24"]'], r"E6 .*is served to .*0\.0\.0\.0/0"),
    # ---- what was goes back, and what is asked comes ----------------------------------------------
    Seed("ranges-not-taken-back", "gce", "providers/gce/model/gce_firewall_diff.c",
         "        !str_set_eq(&now, &then)) {\n        return true;\n    }\n    return destinations_differ",
         '        (!str_set_eq(&now, &then) && !str_set_has(&then, "0.0.0.0/0"))) {\n        return true;\n    }\n    return destinations_differ',
         ["--kind", "gce-target-pool", "--field", "spec.loadBalancerSourceRanges", "--value", '["192.0.2.0/24"]'], r"E2 .*taken back, TCP/80 is served to"),
    Seed("edit-lost-without-controller", "aws", "providers/aws/aws_flow.c",
         ".repairs = rights,", ".repairs = rights && it->item->in->previous != NULL,",
         ["--kind", "aws-nlb", "--field", "*healthcheck-unhealthy-threshold", "--fault", "cold"], r"E4 .*made while no controller ran, it ends otherwise"),
    Seed("undo-forgotten", "gce", "common/lb/driver_undo.c",
         "if (op->undo != NULL && op->undo != &lb_controller_puts_back &&", "if (false && op->undo != NULL && op->undo != &lb_controller_puts_back &&",
         ["--kind", "gce-target-pool", "--field", "spec.sessionAffinity", "--value", '"ClientIP"', "--fault", "for-good-409"],
         r"E1 .*TCP/80 .* is not served to"),
    Seed("refused-edit-tried-again", "gce", "common/lb/driver_stage.c",
         "(lb_leads_back(item->in) || (lb_spares(item->in) && !drive_proves(d, item)))", "false",
         ["--kind", "gce-target-pool", "--field", "spec.sessionAffinity", "--value", '"ClientIP"', "--fault", "for-good-409"],
         r"E1 .* is interrupted in [0-9]+ tries"),
    Seed("not-checked-before", "aws", "providers/aws/plan/aws_refused_rules.c",
         '"ConnectionSettings.IdleTimeout", 1, 4000,', '"ConnectionSettings.IdleTimeout", 1, 4000000,',
         ["--kind", "aws-classic", "--field", "*connection-idle-timeout", "--value", "100000"], r"E8 .*the cloud cannot take the value"),
    # ---- what is said ----------------------------------------------------------------------------
    Seed("status-before-it-serves", "gce", "common/lb/driver_serves.c",
         "(open && !op->tail && !d->tidies)", "false",
         ["--kind", "gce-external-neg", "--field", "spec.loadBalancerIP", "--value", "203.0.113.200"],
         r"E1 .*the status names 203.0.113.200, where TCP/80 is not served"),
    Seed("interruption-not-said", "gce", "providers/gce/target_pool/gce_target_pool_plan.c",
         "if (n->new_rule) {\n        lb_plan_effect", "if (false) {\n        lb_plan_effect",
         ["--kind", "gce-target-pool", "--field", "spec.sessionAffinity", "--value", '"ClientIP"', "--fault", "none"], r"E1 .*TCP/80 .* is not served to"),
    Seed("event-not-sent", "azure", "common/lb/findings.c",
         "if (meant != NULL) {", "if (meant != NULL && s->planning) {",
         ["--kind", "azure-external", "--field", "*azure-load-balancer-intern"], r"E7 .*no Warning says so"),
    Seed("plan-line-less", "aws", "common/lb/plan_print_json.c",
         "for (uint32_t i = 0; i < plan->n_operations; i++) {\n        list_operation",
         "for (uint32_t i = 0; i + 1 < plan->n_operations; i++) {\n        list_operation",
         ["--kind", "aws-nlb", "--field", "spec.ports", "--value", "more"], r"E5 "),
]
