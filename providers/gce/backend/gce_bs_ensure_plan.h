/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_ensure_plan.h: what the parts of the ENSURE planner share (gce_bs_plan.c calls them in
 * this order).
 *
 *     gce_bs_rules_plan.c     per family: which rules go, stay, are patched, come; which address
 *     gce_bs_address_plan.c   who holds it, and that of the rules that go
 *     gce_bs_backend_plan.c   the backend service and what it refers to
 *     gce_bs_check_plan.c     the health check, its firewalls, and those of the other policy
 *     gce_bs_firewall_plan.c  traffic and deny firewalls
 *     gce_bs_undo_plan.c      what of it is put back when the new rules are refused
 *     gce_bs_older_plan.c     rules that an older Service of the same name left
 * Deciding comes before emitting: the backend service must know whether rules go, firewalls must
 * know the address.  Private to these files.  Pure. */
#ifndef TRIMTAB_GCE_BS_ENSURE_PLAN_H
#define TRIMTAB_GCE_BS_ENSURE_PLAN_H

#include "providers/gce/backend/gce_bs_emit_plan.h"
#include "providers/gce/backend/gce_bs_names.h"
#include "providers/gce/backend/gce_l4_address_rules.h"

/* One wanted forwarding rule. */
struct bs_rule {
    const struct gce_rule *is; /* NULL: absent */
    struct gce_rule want;      /* with the address as far as it is known */
    bool remake;               /* deleted, then made again */
    bool patch;
    struct gce_rule patched; /* the members to be patched in */
    const char *because;
};
/* One family. */
struct bs_side {
    const struct gce_bs_side *d;
    int family; /* 0 IPv4, 1 IPv6: index into names */
    /* rules of ours under names that are not wanted */
    const struct gce_rule *stale[GCE_BS_NAMES_MAX];
    size_t n_stale;
    struct bs_rule rules[GCE_BS_RULES_MAX];
    /* the rule from which people know the load balancer; NULL if there is none */
    const struct gce_rule *first;
    struct gce_l4_address_choice choice;
    const struct gce_address *held; /* left by an interrupted run, for these rules */
    /* The same for rules that were to go: it may be `held`. */
    const struct gce_address *former;
    bool held_usable;
    bool hold_wanted;
    bool hold_first;     /* for the firewall's sake alone: nothing can be lost */
    int hold;            /* handle of the operation that holds the address, -1 */
    int keep;            /* of the one that holds the address of the rules that go, -1 */
    struct lb_value ip;  /* without prefix; by handle when it is known later */
    int allow;           /* handle of the operation on the traffic firewall, -1 */
    bool ranges_changed; /* clients that came in are kept out from now on */
};
struct bs_ensure {
    struct bs_emit e;
    const struct gce_bs_desired *d;
    struct gce_bs_names names;
    bool has_names;
    struct bs_side sides[2];
    const struct gce_bservice *service; /* as it is; NULL: absent */
    bool service_again;                 /* it must be deleted and made again: another scheme */
    bool protocol_changes;              /* no rule may refer to it while it is written */
    bool left_shared;                   /* its health check is exchanged for the Service's own */
    bool critical_taken;
};

/* gce_bs_rules_plan.c */
int bs_decide_side(struct bs_ensure *n, struct bs_side *s, struct err *err) _warn_unused_;
void bs_plan_rules(struct bs_ensure *n, struct bs_side *s);
bool bs_side_loses_rules(const struct bs_side *s); /* some that stand go, at least for a while */
bool bs_side_changes_rules(const struct bs_side *s);
/* A family that is given up, and whose rule the backend service need not wait for: its rule goes
 * when the status names what stays. */
bool bs_side_goes_last(const struct bs_ensure *n, const struct bs_side *s);
/* gce_bs_address_plan.c */
void bs_choose_held(struct bs_ensure *n, struct bs_side *s);
/* `must`: or the address could be lost; `pays`: for the firewall's sake alone. */
void bs_decide_hold(struct bs_ensure *n, struct bs_side *s, bool must, bool pays);
void bs_plan_hold(struct bs_ensure *n, struct bs_side *s);
/* Holds the address of a rule that goes under the name `name`, unless another reservation has it or
 * the cloud has no room for one more: then it is given up with the rule, as the plan says of it in
 * any case.  Returns the operation's handle, -1 where there is none. */
int bs_hold_former(struct bs_emit *e, const struct gce_rule *rule, const char *name);
/* That of the rules that go for some with another address.  After bs_plan_hold(): the address of
 * the new rules is known as far as it can be. */
void bs_plan_keep(struct bs_ensure *n, struct bs_side *s);
void bs_plan_release(struct bs_ensure *n, struct bs_side *s);
const char **bs_outcome_ip(const struct bs_ensure *n, const struct bs_side *s);
/* gce_bs_rules_diff_plan.c: the first difference in the Service's words ("spec.ports
 * changed"), and all of them. */
const char *bs_rule_because(const struct gce_rule *is, const struct gce_rule *want);
void bs_rule_fields(struct lb_diff *diff, const struct gce_rule *is, const struct gce_rule *want,
                    struct lb_value ip);
const char *bs_rule_summary(struct arena *a, const struct gce_rule *r);
/* gce_bs_backend_plan.c */
void bs_decide_backend(struct bs_ensure *n);
void bs_plan_backend(struct bs_ensure *n);
/* Brings the backends of what was read to `groups`, and nothing else. */
void bs_write_backends(struct bs_emit *e, const struct gce_bservice *is,
                       const struct gce_strs *groups, const char *mode, bool unlink);
/* gce_bs_check_plan.c */
void bs_plan_check(struct bs_ensure *n);
int bs_plan_check_firewalls(struct bs_ensure *n, struct err *err) _warn_unused_;
void bs_plan_drop_checks(struct bs_ensure *n);
/* gce_bs_firewall_plan.c */
int bs_plan_traffic(struct bs_ensure *n, struct bs_side *s, struct err *err) _warn_unused_;
int bs_plan_deny(struct bs_ensure *n, struct bs_side *s, struct err *err) _warn_unused_;
void bs_plan_deny_off(struct bs_ensure *n, const struct bs_side *s);
void bs_plan_old_traffic(struct bs_ensure *n);

/* gce_bs_undo_plan.c: how the operation is undone that takes away the rule, lets in other ports,
 * changes the backend service's protocol; NULL: it is not.  Valid once
 * bs_decide_side() has decided. */
const struct lb_undo *bs_undo_rule(struct bs_ensure *n, const struct bs_side *s,
                                   const struct gce_rule *r);
const struct lb_undo *bs_undo_traffic(struct bs_ensure *n, const struct bs_side *s,
                                      const struct gce_firewall *is,
                                      const struct gce_firewall *want);
const struct lb_undo *bs_undo_backend(struct bs_ensure *n);
/* How what goes for a replacement would be made again as it stands (plan.h, `ask`): the rule, if
 * one replaces it; the backend service, which is there. */
const struct lb_undo *bs_ask_rule(struct bs_ensure *n, const struct bs_side *s,
                                  const struct gce_rule *r);
const struct lb_undo *bs_ask_backend(struct bs_ensure *n);

/* gce_bs_older_plan.c: deletes what `in->older_rules` names and what still refers to
 * the backend service. */
void bs_delete_older(struct bs_emit *e, const char *backend);

/* One firewall that is wanted. */
struct bs_firewall {
    const struct gce_firewall *f; /* as desired, without the address */
    enum bs_phase phase;          /* as long as it needs no address that is known later */
    enum bs_phase late_phase;
    struct lb_value ip;
    /* destinations besides that address: that of the rule that goes */
    struct gce_strs beside;
    bool has_ip;    /* its body holds the address */
    bool shared;    /* others use it, too */
    bool of_check;  /* it lets health checks in */
    int only_after; /* handle of an operation that must have been done, -1 */
    const char *create_why;
    const char *change_why; /* NULL: told by what differs */
    const char *note;
};
/* Makes, patches or keeps it; *ret_op (may be NULL) is the handle of the operation, -1 when
 * it is kept. */
int bs_firewall_ensure(struct bs_ensure *n, const struct bs_firewall *w, int *ret_op,
                       struct err *err) _warn_unused_;
/* Does the firewall that was found name this Service, or none?  Long names of two Services
 * can be the same. */
bool bs_firewall_is_ours(struct arena *a, const struct gce_bs_input *in,
                         const struct gce_firewall *found);

#endif
