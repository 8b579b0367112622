/* SPDX-License-Identifier: Apache-2.0 */
/* aws.h: what the parts of the simulated AWS know of each other.  Private to sim/aws.
 *
 * The life of a request: handle.c finds service and action, sigv4.c and keys.c say who calls,
 * params.c decodes the form body into `q->in` by the schema packs (schema.h), throttle.c takes a
 * token, the row of the action table runs, and xml.c writes `q->out` in the service's form.  An
 * action is one function of the row
 *
 *     static bool create_security_group(struct amz_request *q)
 *     {
 *         const char *vpc = str_or(json_str(q->in, "VpcId"), q->aws->vpc_id);
 *         if (!amz_get(q->aws, AMZ_VPC, vpc)) {
 *             return amz_refuse(q, "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", vpc);
 *         }
 *         …
 *         json_add_str(q->out, "GroupId", id);
 *         return true;
 *     }
 *
 * q->in is complete and of the right types: unknown parameters, missing ones (as the pack
 * requires), wrong types, ranges, enumerations and lengths are refused before.  Left to the action
 * is what the pack cannot say.  q->out is an empty object to be filled in the packs' names; empty
 * lists must be put there as AWS sends them, and Return of EC2's writing actions comes by itself.
 *
 * Requests are signed (keys.c); setting "verify_signatures": false lets unsigned ones in, for tests
 * of actions.
 *
 * Resources are JSON documents in the same names, in the one store of the frame, by (kind, id) and
 * in order of creation.  The kind table says where each stands in a world's "aws" member, so
 * loading, dumping and seeding need no code per kind; what a kind needs beyond its document goes
 * into a kind of its own under the same id (attributes, tags, health).
 *
 * Names of calls, in counts, faults and hooks: "ec2.DescribeInstances", "elb.AddTags",
 * "elbv2.AddTags", "sts.AssumeRole" (the packs' ids alone are ambiguous).  The traffic log holds
 * the form body and the XML as text, with api "aws", as check_traffic.py takes them; STS, IMDS and
 * credential calls count as "metadata" and go to no log.  One thread: the event loop's.  Source:
 * docs/spec/aws.md §2, §3, §9.3. */
#ifndef TRIMTAB_SIM_AWS_AWS_H
#define TRIMTAB_SIM_AWS_AWS_H

#include "common/base/map.h"
#include "sim/aws/schema.h"
#include "sim/sim.h"

#define AMZ_ACCOUNT        "123456789012"
#define AMZ_CLUSTER        "kubernetes" /* of the seed: tags kubernetes.io/cluster/kubernetes */
#define AMZ_ACCESS_KEY     "AKIASIMTRIMTABEXAMPL"
#define AMZ_SECRET_KEY     "sim/secret/of/trimtab/that/opens/nothing"
#define AMZ_ROLE_NAME      "trimtab-sim-role"
#define AMZ_CONTAINER_AUTH "sim-container-authorization"

struct aws;
struct amz_request;

/* --- resources -------------------------------------------------------------------------------- */

/* The kinds of the store; rows of amz_kinds[] in the same order.  EC2 first; ELB
 * and ELBv2 likewise. */
enum amz_kind_id {
    AMZ_ZONE = 0,         /* ec2.AvailabilityZones: ZoneName */
    AMZ_VPC,              /* ec2.Vpcs: VpcId */
    AMZ_SUBNET,           /* ec2.Subnets: SubnetId */
    AMZ_ROUTE_TABLE,      /* ec2.RouteTables: RouteTableId */
    AMZ_INTERNET_GATEWAY, /* ec2.InternetGateways: InternetGatewayId */
    AMZ_SECURITY_GROUP,   /* ec2.SecurityGroups: GroupId */
    AMZ_INTERFACE,        /* ec2.NetworkInterfaces: NetworkInterfaceId */
    AMZ_ADDRESS,          /* ec2.Addresses (elastic ones): AllocationId */
    AMZ_RESERVATION,      /* ec2.Reservations without Instances: ReservationId */
    /* ec2.Reservations[].Instances: InstanceId; res->parent is the reservation's id */
    AMZ_INSTANCE,
    AMZ_CERTIFICATE,        /* acm.Certificates: CertificateArn (of IAM's too) */
    AMZ_CLASSIC,            /* elb.LoadBalancerDescriptions: LoadBalancerName */
    AMZ_CLASSIC_ATTRIBUTES, /* elb.Attributes: a map by LoadBalancerName (LoadBalancerAttributes) */
    /* elb.PolicyDescriptions: a map by LoadBalancerName (list of PolicyDescription) */
    AMZ_CLASSIC_POLICIES,
    AMZ_CLASSIC_TAGS,             /* elb.Tags: LoadBalancerName, Tags */
    AMZ_LOAD_BALANCER,            /* elbv2.LoadBalancers: LoadBalancerArn */
    AMZ_LOAD_BALANCER_ATTRIBUTES, /* elbv2.Attributes: a map by ARN (list of {Key, Value}) */
    AMZ_LISTENER,                 /* elbv2.Listeners: ListenerArn */
    AMZ_LISTENER_ATTRIBUTES,      /* elbv2.ListenerAttributes: a map by ARN */
    AMZ_TARGET_GROUP,             /* elbv2.TargetGroups: TargetGroupArn */
    AMZ_TARGET_GROUP_ATTRIBUTES,  /* elbv2.TargetGroupAttributes: a map by ARN */
    AMZ_TARGET_HEALTH, /* elbv2.TargetHealth: a map by ARN (list of TargetHealthDescription) */
    AMZ_V2_TAGS,       /* elbv2.Tags: ResourceArn, Tags */
    AMZ_KINDS_MAX,
};

struct amz_kind {
    const char *service; /* member of "aws": "ec2" */
    const char *member;  /* of that: "SecurityGroups" */
    /* member of the document that is its id; NULL: the member is a map from ids to documents */
    const char *id;
};
extern const struct amz_kind amz_kinds[AMZ_KINDS_MAX];

struct amz_resource {
    enum amz_kind_id kind;
    char *id;
    char *parent; /* of an instance: its reservation; else NULL */
    /* owned; in the packs' names; an object, or a list for some map kinds */
    struct json_object *body;
    uint64_t seq; /* order of creation */
    /* eventual consistency: what readers see while writes settle */
    int64_t settles_ms;               /* monotonic; 0: settled */
    struct json_object *stale;        /* seen until then; NULL: nothing is there yet */
    void *extra;                      /* of the kind's owner; freed with free() */
    struct amz_resource *next, *prev; /* of the same kind, in order of creation */
};

struct aws {
    struct sim *sim;
    struct amz_resource *first[AMZ_KINDS_MAX], *last[AMZ_KINDS_MAX];
    struct map *by_id[AMZ_KINDS_MAX]; /* id → struct amz_resource, owned */
    char *region;                     /* "us-east-1" */
    char *vpc_id;  /* the cluster's VPC; of --cloud aws or of the world's configuration */
    char *cluster; /* its id in tags: AMZ_CLUSTER, or the world's */
    struct json_object *settings; /* world member "sim.aws", or NULL */
    struct json_object *rest;     /* members of a world's "aws" of no kind; NULL: none */
    struct map *keys;             /* access key → struct amz_key, owned */
    char *role_key;               /* the key that the metadata service gave last; NULL: none */
    struct map *imds_tokens;      /* token → int64_t* when it ends, ms */
    struct map *buckets;          /* "ec2.reads" → struct bucket of throttle.c, owned */
    struct map *held;             /* id or ARN → int64_t* until (monotonic ms): still in use */
    struct map *ended; /* id of an instance → int64_t* when load balancers lose it (monotonic ms) */
    struct map *certificates; /* ARN → int64_t* first named at (monotonic ms) */
    uint64_t next_seq;
    int next_node; /* number of the next node */
};

/* NULL when absent (`id` may be NULL).  The document as it *is*: writes look here. */
struct amz_resource *amz_get(const struct aws *aws, enum amz_kind_id kind, const char *id);
/* Adds or replaces; takes `body` over.  A replaced document keeps its place in the order. */
struct amz_resource *amz_set(struct aws *aws, enum amz_kind_id kind, const char *id,
                             struct json_object *body);
void amz_unset(struct aws *aws, enum amz_kind_id kind, const char *id); /* absent: does nothing */
/* for (r = amz_first(aws, AMZ_SUBNET); r; r = r->next); take `next` before you unset. */
struct amz_resource *amz_first(const struct aws *aws, enum amz_kind_id kind);
size_t amz_count(const struct aws *aws, enum amz_kind_id kind);

/* Eventual consistency (setting "consistency_ms", off by default): call amz_unsettle() with a
 * resource right after amz_set() created it (`was` NULL), or before its body is changed in place
 * (`was` its body): readers see `was` (a copy is made) for that long.  amz_seen() is the document
 * as a reader sees it now (borrowed), NULL when it is not there for them. */
void amz_unsettle(struct aws *aws, struct amz_resource *res, struct json_object *was);
struct json_object *amz_seen(const struct aws *aws, struct amz_resource *res);

/* --- ids, names, time ------------------------------------------------------------------------- */

/* "sg-" + 17 hex digits; repeatable by --seed. */
char *amz_new_id(struct aws *aws, struct arena *a, const char *prefix);
/* n hex digits. */
char *amz_new_hex(struct aws *aws, struct arena *a, size_t n);
/* "arn:aws:SERVICE:REGION:ACCOUNT:…" */
char *amz_arn(struct aws *aws, struct arena *a, const char *service, const char *fmt, ...)
    _printf_(4, 5);
/* Now, as the APIs write it: 2026-01-02T15:04:05Z. */
char *amz_now(struct aws *aws, struct arena *a);
/* Its clock, s since 1970: the simulator's, off by setting "clock_offset_s". */
int64_t amz_wall_s(const struct aws *aws);
/* A header Date with it. */
void amz_add_date(const struct aws *aws, struct sim_call *call);

/* --- settings --------------------------------------------------------------------------------- */

/* A number of the settings (consistency_ms, group_release_ms, page_size …). */
int64_t amz_setting(const struct aws *aws, const char *name, int64_t otherwise);
/* A quota: of settings.quotas or of --quota NAME=N; `otherwise` when neither names it.  Names in
 * use: rules_per_group (60), groups_per_vpc, tags, load_balancers, classic_load_balancers,
 * listeners, target_groups, targets_per_group, targets_per_nlb, targets_per_zone; a new one is fine
 * when docs/simulator.md lists it. */
int64_t amz_quota(const struct aws *aws, const char *name, int64_t otherwise);

/* --- a request -------------------------------------------------------------------------------- */

/* Why a request is not served.  status 0: it is. */
struct amz_refusal {
    int status;
    const char *code;    /* "InvalidGroup.NotFound" */
    const char *message; /* arena */
};

struct amz_request {
    struct aws *aws;
    struct sim_call *call;
    struct arena *a;
    enum amz_service service;
    const struct amz_op *op;         /* of the pack; op->name is the action */
    const struct amz_action *action; /* NULL: the pack knows it, the simulator does not */
    const char *id;                  /* request id */
    struct url_param *params;        /* of the form body, as they came */
    size_t n_params;
    const char *access_key; /* who calls; NULL: unsigned */
    const char *caller_arn;
    struct json_object *in;  /* decoded; the arena's; never NULL in an action */
    struct json_object *out; /* the answer; the arena's */
    struct amz_refusal refusal;
};

/* Fills q->refusal and returns false, so that a check can end in `return amz_refuse(…)`.  The
 * status is the one the pack declares for this action's code, else that of the common codes
 * (AuthFailure 401, RequestLimitExceeded 503 …), else 400. */
bool amz_refuse(struct amz_request *q, const char *code, const char *fmt, ...) _printf_(3, 4);
/* The pack lists this code among the action's own. */
bool amz_declares(const struct amz_request *q, const char *code);
/* With a status of its own (InternalFailure 500 …). */
bool amz_refuse_status(struct amz_request *q, int status, const char *code, const char *fmt, ...)
    _printf_(4, 5);
/* A parameter with a value that cannot be: InvalidParameterValue (EC2),
 * ValidationError (the others). */
bool amz_refuse_value(struct amz_request *q, const char *fmt, ...) _printf_(2, 3);
/* A parameter that must be there: MissingParameter (EC2), ValidationError. */
bool amz_refuse_missing(struct amz_request *q, const char *parameter);
/* Parameters that exclude each other: InvalidParameterCombination (EC2), ValidationError. */
bool amz_refuse_combination(struct amz_request *q, const char *fmt, ...) _printf_(2, 3);

/* --- actions ---------------------------------------------------------------------------------- */

/* The cost of a call: the bucket that it draws from when the settings throttle ("ec2.reads"), and
 * its duration with --latency cloud. */
enum amz_cost {
    /* 50–200 ms; the frame itself takes "unfiltered" for reads of EC2 without ids,
     * filters and pages */
    AMZ_READS = 0,
    AMZ_WRITES,  /* 100–400 ms */
    AMZ_HEAVY,   /* EC2's resource-intensive ones, ELB's and ELBv2's rule changes: 200–1000 ms */
    AMZ_CREATES, /* a load balancer: 500–2000 ms */
};
struct amz_action {
    const char *name; /* as in the pack; NULL ends the table */
    bool (*run)(struct amz_request *q);
    enum amz_cost cost;
};
/* One table per service, in ec2.c, elb.c, elbv2.c and sts.c. */
extern const struct amz_action amz_ec2_actions[];
extern const struct amz_action amz_elb_actions[];
extern const struct amz_action amz_elbv2_actions[];
extern const struct amz_action amz_sts_actions[];

/* --- lists, pages, tags ----------------------------------------------------------------------- */

/* A list member, made (empty) when it is absent; borrowed. */
struct json_object *amz_list(struct json_object *o, const char *name);
/* The first object of a list whose member has that text, or NULL; *ret_i may be NULL. */
struct json_object *amz_find(struct json_object *list, const char *member, const char *text,
                             size_t *ret_i);
/* The first item, or NULL: it is empty, or, as in a world it may be, no list. */
struct json_object *amz_item(struct json_object *list);
/* The list of texts holds it. */
bool amz_has_text(struct json_object *list, const char *text);
void amz_remove_at(struct json_object *list, size_t i);

/* Puts the page of `items` (taken over) that is asked for into q->out under `member`, and the token
 * of the next page.  The parameters and members of the token and the size are those of the service:
 * MaxResults, NextToken (EC2); PageSize, Marker, NextMarker (ELB, ELBv2).  A page has at most
 * `most` items (0: no limit), less if asked for or if the setting "page_size" says so.  False:
 * refused (a token that no page gave). */
bool amz_page(struct amz_request *q, const char *member, struct json_object *items, size_t most);

/* Lists of {"Key", "Value"}.  amz_tag() is the value, NULL when absent. */
const char *amz_tag(struct json_object *tags, const char *key);
/* Sets each tag of `from` in `tags`, in place or at the end; without Value it is "". */
void amz_tags_put(struct json_object *tags, struct json_object *from);
/* Removes a tag; `value` NULL: whatever it is. */
void amz_tags_drop(struct json_object *tags, const char *key, const char *value);
/* Keys are there, not twice in `from`, not "aws:…", and with `have` (or NULL) not more than `most`
 * (quota "tags").  Codes: the service's (TooManyTags, TagLimitExceeded), DuplicateTagKeys where the
 * action declares it. */
bool amz_tags_check(struct amz_request *q, struct json_object *from, struct json_object *have,
                    size_t most);

/* --- addresses of balancers ------------------------------------------------------------------- */

/* How many balancers stand in a subnet: each has an address of it (lb.c), which its
 * AvailableIpAddressCount, as it is stored, does not count. */
int64_t amz_subnet_nodes(const struct aws *aws, const char *subnet);

/* --- instances that end ----------------------------------------------------------------------- */

/* A terminated instance leaves the load balancers that have it, some time later (lb_gone.c). */
void amz_balancers_expect_end(struct aws *aws, const char *instance);
/* Takes out those whose time has come: before load balancers are checked. */
void amz_balancers_settle(struct aws *aws);

/* --- groups in use ---------------------------------------------------------------------------- */

/* A user of a security group: the id of an instance, interface or balancer, or "a network interface
 * that is being deleted"; NULL: none.  DeleteSecurityGroup asks it (rules that refer to the
 * group are EC2's own matter). */
const char *amz_group_user(const struct aws *aws, const char *group_id);
/* A balancer that used these groups is gone: its interfaces hold them for setting
 * "group_release_ms" (0). */
void amz_groups_hold(struct aws *aws, struct json_object *group_ids);
/* The user of these ids or ARNs is deleted, but holds them for the time of that setting (ms;
 * default 0). */
void amz_hold(struct aws *aws, const char *setting, struct json_object *ids);
bool amz_is_held(const struct aws *aws, const char *id);

/* --- the frame's own parts -------------------------------------------------------------------- */

/* handle.c */
void amz_name_call(void *state, struct sim_call *call);
void amz_handle(void *state, struct sim_call *call);
void amz_refuse_fault(void *state, struct sim_call *call, int status, const char *reason,
                      const char *message, struct json_object *body);

/* keys.c: an access key of a caller. */
struct amz_key {
    char *id, *secret;
    char *session;     /* token that must come along; NULL: a static key */
    char *arn;         /* of the caller */
    int64_t expires_s; /* wall; of a temporary one */
};
void amz_keys_init(struct aws *aws);
/* A temporary key; borrowed from aws->keys. */
const struct amz_key *amz_key_new(struct aws *aws, const char *arn, int64_t lifetime_s);
/* Authenticates the caller by signature; false: refused. */
bool amz_authenticate(struct amz_request *q);

/* throttle.c: takes one request off the bucket of its service and cost, false: refused. */
bool amz_throttle(struct amz_request *q);

/* settings.c: ERR_INVALID for one that is unknown or of the wrong type; `settings` may be NULL. */
int amz_settings_check(struct json_object *settings, struct err *err);

/* seed.c: the network of --cloud aws; "us-east-1" of a zone, NULL if it is not one (arena). */
void amz_seed(struct aws *aws);
char *amz_region_of_zone(struct arena *a, const char *zone);

/* store.c */
void amz_store_init(struct aws *aws);
void amz_store_done(struct aws *aws);
void amz_store_clear(struct aws *aws);
/* A document of a world has the form that the API gives this kind: lists where it
 * has lists (shapes.c). */
bool amz_shape_fits(enum amz_kind_id kind, struct json_object *document);
int amz_store_load(struct aws *aws, struct json_object *world, struct err *err);
void amz_store_dump(struct aws *aws, struct json_object *world);

#endif
