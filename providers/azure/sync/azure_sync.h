/* SPDX-License-Identifier: Apache-2.0 */
/* azure_sync.h: what the stages of one sync share: the batch, and the cloud as this sync has seen
 * it.
 *
 * azure_stages.h has the stages and their order.
 * Each stage observes what it needs (azure_observe.h), plans (azure_*_plan.c, pure) and is executed
 * (azure_write.c).
 * Source: docs/spec/azure.md 4.2 to 4.4, 12.6; docs/adr/0010.  One thread; everything lives
 * in the sync's arena. */
#ifndef TRIMTAB_AZURE_SYNC_H
#define TRIMTAB_AZURE_SYNC_H

#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "providers/azure/lb/azure_select_rules.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/pip/azure_pip_rules.h"
#include "providers/azure/sync/azure_handle.h"

struct azure_kept_claim;
struct azure_predicted;
struct azure_stood;

/* One Service of the batch. */
struct azure_item {
    struct lb_item *item;
    const struct azure_service *service;
    const struct azure_service *flip;
    bool want;
    bool redirected;    /* its traffic goes elsewhere by this sync (azure_admit.h), */
    bool admitted;      /* and is let in there before */
    bool closes_later;  /* what it has left is closed after its status (stage "close") */
    bool looks_again;   /* a machine that a node names was not found when it was to join */
    bool saw_links;     /* no link of it is anywhere that this sync does not know */
    bool left;          /* an UPDATE of a Service that has no load balancer: nothing is done */
    const char *target; /* name of its balancer, once it is selected; NULL without `want` */
    /* It leaves that balancer, and no node of its target serves it yet; or NULL */
    const char *moves_from;
    bool has_left;       /* it is not there any more, but where the driver has put it back */
    bool moves_to_nodes; /* the target had nodes before */
    const char *back_to; /* its target is this one again: the move was refused; or NULL */
    const char *was_on;  /* planning: the balancer that it is on before; NULL: none */
    bool was_old;        /* that one is a Basic one that has to go */
    bool too_early;      /* it was refused a while ago, and nothing is tried (azure_first.h) */
    bool taken_back;     /* likewise refused now: what was made for it goes, so `want` is false */
    bool bare;           /* no node belongs into its pool, and none is in it */
    /* a part of it cannot be, and is not tried; all else is carried out; or NULL */
    const struct err *refused_part;
    /* addresses that this sync has given to the host for the status; none: it did not */
    struct azure_texts told;
    struct azure_pip_want pips[AZURE_FAMILIES]; /* external; name NULL: none of this family */
    /* ID of what stands in for a public IP that this sync makes anew (azure_renew_rules.h); "":
     * there is no room for one; NULL:  none is made anew */
    const char *interim[AZURE_FAMILIES];
    bool interim_serves; /* all of these exist, and the status is to tell them */
    bool interim_beside; /* they serve on frontends beside the Service's own */
};

/* A list that a stage needs, and whether this very sync has read it. */
struct azure_seen {
    enum azure_kind kind;
    const char *scope;
    struct json_object *array; /* NULL: not there */
    bool read;
    bool needed; /* by the stage under way */
    bool known;  /* this sync has had the list */
    bool one;    /* the scope is one resource, the list has none or one */
    /* it is needed until the end of the sync: a frontend named it that is not there any more */
    bool stays;
    bool no_group;  /* when this sync read it last, its resource group was not there */
    struct err err; /* why it could not be read just now */
};

/* The labels of a namespace, once a Service asked for them. */
struct azure_namespace {
    const char *name;
    const struct tt_kv *labels;
    size_t n_labels;
};

struct azure_sync {
    struct lb_sync *s;
    struct azure_provider *p;
    struct azure_item *items; /* one per item of the batch; service NULL: not ours */
    struct azure_seen *seen;
    size_t n_seen;
    /* Azure may have carried out a write of the kind, or not, and it was not read since; for pools
     * likewise one that was carried out, as only the balancer shows their members */
    bool unsure[AZURE_KIND_MAX];
    size_t cap_seen;
    struct azure_predicted *predicted; /* azure_predict.c's */
    size_t n_predicted;
    size_t cap_predicted;
    /* what the lists say; made by azure_see() */
    struct azure_lbs lbs; /* managed ones; without those that have to go with the old SKU */
    struct azure_lbs old; /* Basic ones of a Standard cluster (5.8) */
    struct azure_kept_claim *claims; /* azure_owner.c's, as is the next */
    struct azure_lb_index **indexes; /* of `lbs`; NULL: made when they are needed */
    struct azure_pips pips;          /* of all groups that were listed */
    struct json_object *nsg;         /* NULL: there is none */
    const char *const *zones;
    size_t n_zones;
    struct azure_placement placement;
    /* every Service of type LoadBalancer in the cluster that is ours, as of the beginning
     * of the sync */
    const struct azure_service *const *services;
    size_t n_services;
    struct azure_namespace *namespaces;
    size_t n_namespaces;
    /* the first operation of the stage under way: a plan that is only shown is of all stages */
    size_t stage_op;
    bool interim;          /* the stage under way puts up interim frontends */
    bool security_planned; /* the stage "security" has a line about the group */
    bool stage_is_new;     /* it has none yet */
    /* planning: what stays and comes in the security group is in the plan already */
    bool security_is_planned;
    /* IDs of scale sets of which Azure said that they hold a balancer that has to go */
    struct azure_clinging {
        const char *id;
        struct azure_clinging *next;
    } *clinging;
    /* IDs of private link services that stand on frontends that have to go, as Azure said; no list
     * that was read has them */
    struct azure_clinging *clinging_links;
    /* IDs of public IPs that are in use, as Azure said when they were to be deleted: the list that
     * says otherwise may lag behind, and each is read by its name */
    struct azure_clinging *clinging_pips;
    struct azure_stood *stood; /* azure_stands.c's, at the end of the sync */
};
/* The sync of a stage function. */
struct azure_sync *azure_sync_of(struct lb_sync *s);
/* The managed balancer of that name, or NULL; the one public IP by ID likewise. */
struct json_object *azure_sync_lb(const struct azure_sync *y, const char *name);
/* All Services of the cluster that want a load balancer, into y->services. */
void azure_services_read(struct azure_sync *y);
/* The Service of the cluster that has the name of this one and another UID; NULL: there is none. */
const struct azure_service *azure_sync_namesake(const struct azure_sync *y,
                                                const struct azure_service *s);
/* As azure_frontend_owner(), for the public IPs of this sync. */
struct azure_ownership azure_sync_owner(struct azure_sync *y, const struct azure_service *s,
                                        struct json_object *frontend);
/* The index of a balancer of y->lbs; NULL: it is none of them. */
struct azure_lb_index *azure_sync_index(struct azure_sync *y, struct json_object *lb);
/* Frontends of the balancer that can be the Service's, in the order of the document:
 * azure_sync_owner() says which are. */
struct azure_elements azure_sync_frontends(struct azure_sync *y, const struct azure_service *s,
                                           struct json_object *lb);
/* Documents of balancers, public IPs or security groups as this sync has read and written them
 * last, for looking alone: lists that were forgotten since, to be read again before a write, are
 * among them.  False: it has not seen the kind, or does not know how its last write ended. */
bool azure_last_seen(struct azure_sync *y, enum azure_kind k, struct json_object *const **ret,
                     size_t *ret_n);
/* Items to be planned now: ours, active, not left. */
bool azure_item_takes_part(const struct azure_item *it);
/* The backends of a Service are kept up that was never carried out as it is (lb_is_unproven()):
 * nodes follow by what stands, and nothing that the Service says is written. */
bool azure_item_is_unproven(const struct azure_item *it);
/* A public IP of it is made anew in this sync. */
bool azure_renews(const struct azure_item *it);
/* One that takes part, and whose wishes are carried out. */
bool azure_item_is_carried_out(const struct azure_item *it);
/* A batch has a Service that is new or has changed sides, and no rule names nodes.  Then the
 * security group needs only what balancers and public IPs say, and is written beside the members:
 * azure_observe_members() reads what that takes, and azure_plan_security_beside() adds it to a plan
 * that writes some. */
bool azure_security_goes_beside(struct azure_sync *y);
/* All of them: those that go first, then by age; so later ones find the ports taken. */
struct azure_item **azure_items_in_order(struct azure_sync *y, size_t *ret_n);
/* The address of a frontend, private or public; NULL or "": none that this sync knows. */
const char *azure_sync_frontend_address(const struct azure_sync *y, struct json_object *frontend);
/* Addresses of the Service's frontends, in the order of the document; `flip`: on the balancers of
 * the other kind.  A public IP without an address yet counts as none, and a former frontend
 * (azure_frontend_is_former()) while there is no other one of its family. */
struct azure_texts azure_addresses_of(struct azure_sync *y, const struct azure_service *service);
/* The addresses that serve the Service while its public IPs are made anew: interim ones, and of a
 * family of which none is made anew, those that it has now.  False: Azure has yet to give one. */
bool azure_interim_addresses(struct azure_sync *y, const struct azure_item *it,
                             struct azure_texts *ret);
/* Those of interim frontends that do not count, and of other former ones
 * (azure_frontend_is_former()). */
struct azure_texts azure_interim_left(struct azure_sync *y, const struct azure_service *service);
/* A family of the Service has no frontend with an address (yet). */
bool azure_lacks_address(struct azure_sync *y, const struct azure_service *service);
/* The status has an address that is neither of a frontend of the Service (any more) nor one of its
 * additional ones. */
bool azure_leaves_told(struct azure_sync *y, const struct azure_item *it);
/* Keeps in mind which addresses the Service has: its status may lag behind (17 row 20). */
void azure_remember(struct azure_sync *y, const struct azure_item *it);
/* Keeps in mind where a Service was let in for an edit that may be refused yet; and those
 * addresses: what it does not use in the end is closed with its next good sync. */
void azure_remember_admitted(struct azure_sync *y, const struct azure_item *it,
                             const struct azure_texts *ips);
struct azure_texts azure_admitted(struct azure_sync *y, const struct azure_item *it);

/* ---- writes (azure_write.c) */
/* Argument of an operation; its op->arg. */
struct azure_write {
    struct azure_arm *arm;
    const struct tt_call *call;
    struct azure_call_spec spec;
    /* of the document, where an earlier operation of the plan writes it, too */
    struct lb_value etag;
    bool doubtful;              /* a refusal as in use makes the sync look again, once */
    const char *was;            /* etag of the document as it was planned on, or NULL */
    struct str_set parties;     /* Services of which none may fail by it alone */
    struct json_object *answer; /* PUT: filled when done */
    const char *sent;           /* the body, when it is over; until azure_wrote() has ended */
    bool touches_pips;          /* frontends change: etags of public IPs go stale (3.4) */
    bool touches_lbs;           /* members or links change: etags of balancers go stale */
    bool announced;             /* the first owner gets an event of its success or failure */
};
struct azure_write *azure_write_new(struct azure_sync *y, const struct azure_call_spec *spec);
/* A balancer could not be deleted for a scale set's sake, or a public IP for that of a frontend,
 * and no list said so: that is a conflict.  The sync looks again, at the scale set or public IP by
 * its name, and deletes once more, or does what it sees then (6.11).  Other failures stay. */
void azure_write_failed(const struct azure_write *w, struct err *err);
extern const struct lb_op_type azure_put_type;
extern const struct lb_op_type azure_delete_type;
/* As lb_flow.wrote: keeps the snapshot true. */
void azure_wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                 const struct err *err);
/* As lb_flow.culprits: the owners whose names stand in Azure's message. */
struct str_set azure_culprits(const struct lb_sync *s, const struct lb_op *op,
                              const struct err *err);

/* ERR_INVALID: the Service names a service tag that Azure has refused within the last hour, in a
 * rule of whatever Service.  Only the security group, which is written last, can tell. */
int azure_refused_tags_check(const struct azure_sync *y, const struct azure_access *x,
                             struct err *err) _warn_unused_;
/* Load balancing rules that a network interface may carry, as far as Azure has said; 0: nothing is
 * known. */
size_t azure_rules_per_nic(const struct azure_sync *y);

#endif
