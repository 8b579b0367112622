/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4.h: what the files share that answer for balancers with a backend service: how answers
 * are put together.
 *
 * Nothing is computed here that the provider computes. */
#ifndef TRIMTAB_TESTS_EVAL_GCE_L4_H
#define TRIMTAB_TESTS_EVAL_GCE_L4_H

#include "providers/gce/backend/gce_bs.h"
#include "tests/eval/eval.h"

/* The text of a member, "" when it is absent. */
const char *eval_text(struct json_object *in, const char *name);
/* A link without what stands before "projects/". */
const char *eval_short_link(const char *link);
struct gce_strs eval_sorted(struct arena *a, struct gce_strs s);
/* {"needs_update": bool}, and the body when it is true. */
struct json_object *eval_hc_answer(const struct gce_hc *existing, const struct gce_hc *want);
/* The whole cloud of a balancer in ingress-gce's, or cloud-provider-gcp's, members.  `ip` and
 * `ip6`: what it has. */
struct json_object *eval_rule(struct arena *a, const struct gce_bs_desired *d,
                              const struct gce_rule *r, const char *ip);
struct json_object *eval_firewall(struct arena *a, const struct gce_bs_desired *d,
                                  const struct gce_firewall *f, const char *ip);
struct json_object *eval_firewalls(struct arena *a, const struct gce_bs_desired *d, const char *ip,
                                   const char *ip6);
struct json_object *eval_bservice(struct arena *a, const struct gce_bs_desired *d);
/* Sources of health checks, as the flags' defaults have them. */
int eval_bs_facts(struct arena *a, struct json_object *facts, struct gce_bs_facts *ret,
                  struct err *err);

/* An internal balancer on instance groups; asked for target pools, too. */
int eval_ilb_desired(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err);

#endif
