/* SPDX-License-Identifier: Apache-2.0 */
/* stage_rig.h: the stages of the Azure provider under the real driver, with a cloud in memory
 * (arm_docs.h).
 *
 * Before each stage the provider's snapshot is made from the cloud, and each operation of its plan
 * is carried out there instead of being sent; so a test reads what was written, for which Services
 * and in which order:
 *
 *     addresses: create public IP kubernetes-aweb [default/web]
 *
 * One thread. */
#ifndef TRIMTAB_TESTS_AZURE_STAGE_RIG_H
#define TRIMTAB_TESTS_AZURE_STAGE_RIG_H

#include "providers/azure/sync/azure_sync.h"
#include "tests/support/arm_docs.h"
#include "tests/unit/azure/azure_test.h"

#define RIG_SERVICES_MAX 16
#define RIG_NODES_MAX    8

struct rig_service {
    const struct tt_service *given; /* this one, with another status; or NULL: by the next three */
    const char *name;
    const char *annotations; /* JSON without prefix, or NULL */
    const char *spec;        /* members, or NULL: one TCP port 80 */
    /* annotations that this process has synced before, as above; NULL: it has not seen it */
    const char *before;
    uint32_t verb;      /* TT_VERB_… in the next run; 0: not in the batch */
    bool gone;          /* no Service any more */
    bool unreadable;    /* only its name and uid are known */
    const char *ns;     /* NULL: default */
    const char *hosts;  /* nodes with its endpoints, blank separated; NULL: they are not known */
    uint32_t reasons;   /* TT_REASON_… of the next run */
    uint32_t flags;     /* TT_ITEM_… */
    const char *status; /* addresses, blank separated; filled by runs */
    /* those that were written while a plan was being carried out or tidied up: "x then y" */
    const char *served;
    int32_t unwritten; /* the status cannot be written: this code */
    int64_t again_ms;  /* as it was asked for last; 0: never */
    int32_t code;      /* of its last result */
    const char *message;
    const char *stands; /* of its last failure: "serves", why not, or "": nothing was said */
};
#define STAGE_RIG_STAGES 18 /* with the one that takes back what was let in */

struct stage_rig {
    struct azure_provider p; /* first: the driver's provider */
    struct arena *a;
    struct tt_host host;
    struct lb_flow flow;
    struct arm_docs docs;
    struct rig_service services[RIG_SERVICES_MAX];
    size_t n_services;
    const struct tt_service **all;
    const struct tt_node *nodes[RIG_NODES_MAX];
    size_t n_nodes;
    const char *log;    /* lines of what was written, or planned */
    const char *asked;  /* lines "clean: subnet": what a stage was the first to need */
    const char *events; /* lines "default/web Reason" */
    const char *nobody; /* why a Service serves no client, as a plan said last; NULL: none did */
    /* who listens; may be NULL: after each write (`was`: the document before it), and when a plan
     * is reported, whose operations stand in r->plan (NULL: no stage was reached) */
    void (*wrote)(struct stage_rig *r, const struct lb_op *op, struct json_object *was,
                  const struct err *err);
    void (*reported)(struct stage_rig *r, const struct tt_plan *view);
    void *arg; /* theirs */
    const struct lb_plan *plan;
    bool planning;
    size_t
        stages_end[STAGE_RIG_STAGES]; /* by stage: its operations end before this one of r->plan */
    /* faults */
    const char *fail;    /* the write of the document of that name fails */
    unsigned fail_after; /* the number of writes that succeed first */
    unsigned fail_times; /* so many times */
    int fail_code;       /* with that code */
    int fail_status;     /* and that status of HTTP */
    const char *fail_message;
    const char *poison; /* a balancer or group that has an element of that prefix is refused */
    const char *namespace_labels; /* JSON; of every namespace */
    const char *stage;
};

struct stage_rig *stage_rig_new(void);
/* The next write of the resource of that name fails with the code. */
void stage_rig_fail_once(struct stage_rig *r, const char *name, int code);
void stage_rig_free(struct stage_rig *r);
/* A test whose state is a rig. */
int stage_rig_setup(void **state);
int stage_rig_teardown(void **state);
#define RIG_TEST(fn)     cmocka_unit_test_setup_teardown(fn, stage_rig_setup, stage_rig_teardown)
#define ADD(r, name)     stage_rig_add(r, name, NULL, NULL)
#define written(r, want) same_text("written", (r)->log, want)
#define succeeded(s)     same_text((s)->name, (s)->message, "")
struct rig_service *stage_rig_add(struct stage_rig *r, const char *name, const char *annotations,
                                  const char *spec);
/* Two Standard balancers, lb1 and lb2, with pools of addresses. */
void stage_rig_two_balancers(struct stage_rig *r);
/* A machine of the group, with that InternalIP. */
void stage_rig_add_node(struct stage_rig *r, const char *name, const char *ip);
/* Reconciles those with a verb; the log begins again.  Afterwards their statuses are stored,
 * deleted ones are gone. */
void stage_rig_run(struct stage_rig *r);
/* The same, but verbs stay as they are. */
void stage_rig_reconcile(struct stage_rig *r);
/* Shows what would be done. */
void stage_rig_plan(struct stage_rig *r);
/* All Services are ensured once more: nothing may be planned. */
void stage_rig_settled(struct stage_rig *r);
/* A document of the cloud, from JSON; gets an ID, where it has none, and an etag. */
struct json_object *stage_rig_put(struct stage_rig *r, enum azure_kind k, const char *json);
struct json_object *stage_rig_doc(struct stage_rig *r, enum azure_kind k, const char *name);
/* "a b": names of a list, in order of the cloud. */
const char *stage_rig_names(struct stage_rig *r, enum azure_kind k);
/* Names of an array of a balancer. */
const char *stage_rig_elements(struct stage_rig *r, const char *lb, const char *array);
/* Destinations of all security rules, "ports>destination …". */
const char *stage_rig_rules(struct stage_rig *r);

#endif
