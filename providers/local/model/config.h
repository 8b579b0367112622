/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: the cloud-config of the provider `local`, read and checked.
 *
 * One YAML document (apiVersion local.trimtab.io/v1): pools of addresses, and how this director
 * forwards, checks, holds and announces.  Reading gives all findings, not the first alone; each
 * names file and line.  Pure: nothing of the machine is checked (config_machine.h does that).
 * Everything lives in the arena and is const afterwards. */
#ifndef TRIMTAB_LOCAL_MODEL_CONFIG_H
#define TRIMTAB_LOCAL_MODEL_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/index.h"
#include "common/base/ip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

#define LOCAL_API_VERSION  "local.trimtab.io/v1"
#define LOCAL_POOLS_MAX    1000
#define LOCAL_ENTRIES_MAX  4096 /* of one pool */
#define LOCAL_INSTANCE_MAX 15

enum local_role { LOCAL_ROLE_ALL, LOCAL_ROLE_ALLOCATOR, LOCAL_ROLE_DIRECTOR };
/* LOCAL_MODE_AUTO stands in a file and an annotation only; local_mode_of() makes of it
 * LOCAL_MODE_NFT. */
enum local_mode {
    LOCAL_MODE_AUTO,
    LOCAL_MODE_NFT,
    LOCAL_MODE_IPVS_NAT,
    LOCAL_MODE_IPVS_FULLNAT,
    LOCAL_MODE_IPVS_DR,
    LOCAL_MODE_IPVS_TUNNEL,
};
enum local_scheduler {
    LOCAL_SCHED_AUTO, /* wrr when two weights differ, else rr */
    LOCAL_SCHED_RR,
    LOCAL_SCHED_WRR,
    LOCAL_SCHED_LC,
    LOCAL_SCHED_WLC,
    LOCAL_SCHED_SH,
    LOCAL_SCHED_MH,
};
enum local_targets {
    LOCAL_TARGETS_AUTO,
    LOCAL_TARGETS_NODE_PORT,
    LOCAL_TARGETS_NODE,
    LOCAL_TARGETS_POD
};
enum local_snat { LOCAL_SNAT_AUTO, LOCAL_SNAT_ALWAYS, LOCAL_SNAT_NEVER };
enum local_announce { LOCAL_ANNOUNCE_ARP, LOCAL_ANNOUNCE_ROUTES, LOCAL_ANNOUNCE_NONE };
enum local_ip_mode { LOCAL_IP_MODE_AUTO, LOCAL_IP_MODE_VIP, LOCAL_IP_MODE_PROXY };
enum local_redundancy { LOCAL_REDUNDANCY_NONE, LOCAL_REDUNDANCY_LEASE, LOCAL_REDUNDANCY_ECMP };
enum local_check {
    LOCAL_CHECK_AUTO, /* of an annotation: what the configuration says for the policy */
    LOCAL_CHECK_NONE,
    LOCAL_CHECK_TCP,
    LOCAL_CHECK_HTTP,
    LOCAL_CHECK_KUBE_PROXY,
    LOCAL_CHECK_NODE_PORT, /* healthCheckNodePort */
};
enum local_tunnel { LOCAL_TUNNEL_IPIP, LOCAL_TUNNEL_GUE, LOCAL_TUNNEL_GRE };

/* Both ends belong to it; of one family. */
struct local_range {
    struct ip_addr first;
    struct ip_addr last;
};

enum local_op { LOCAL_SEL_IN, LOCAL_SEL_NOT_IN, LOCAL_SEL_EXISTS, LOCAL_SEL_NOT_EXISTS };
/* matchLabels and matchExpressions of the Kubernetes API (metav1.LabelSelector), all of
 * which must hold. */
struct local_requirement {
    const char *key;
    enum local_op op;
    const char *const *values;
    size_t n_values;
};
struct local_selector {
    bool given; /* false: selects everything */
    const struct local_requirement *items;
    size_t n;
};

struct local_check_config {
    int64_t interval_ms;
    int64_t timeout_ms;
    unsigned fall;
    unsigned rise;
    enum local_check cluster; /* kind of check for policy Cluster */
    enum local_check local;
    enum local_check pod;
};
/* `address[:port]`; addr.len 0: none.  port 0: that of the frontend. */
struct local_sorry {
    struct ip_addr addr;
    uint16_t port;
};
/* How a Service that has an address of the pool is served; in the director part, what
 * pools begin with. */
struct local_service_defaults {
    enum local_mode mode;
    enum local_scheduler scheduler;
    enum local_targets targets;
    enum local_snat snat;
    struct local_check_config checks;
    int64_t drain_timeout_ms; /* 0: at once */
    bool fail_open;
    struct local_sorry sorry;
};
struct local_pool {
    const char *name;
    size_t line;                      /* of the file, 1 is the first */
    const struct local_range *ranges; /* as written, sorted by first address, IPv4 before IPv6 */
    size_t n_ranges;
    const struct local_range *exclude; /* sorted likewise */
    size_t n_exclude;
    bool avoid_buggy_ips; /* leaves out IPv4 addresses that end in .0 and .255 */
    bool auto_assign;
    int64_t priority; /* 1…n come before 0, lower first */
    const char *const *namespaces;
    size_t n_namespaces; /* 0: all */
    struct local_selector namespace_selector;
    struct local_selector service_selector;
    struct local_service_defaults serve;
    enum local_announce announce_by;
    const char *const *interfaces; /* globs */
    size_t n_interfaces;           /* 0: all that have an address in a subnet with the VIP */
    int64_t refresh_ms;            /* 0: announced on changes only */
    bool announce_empty;
};
struct local_reservation {
    const char *service; /* "namespace/name" */
    const struct ip_addr *addrs;
    size_t n_addrs;
};
struct local_director_config {
    const char *name; /* NULL: the host's name */
    struct local_service_defaults serve;
    enum local_redundancy redundancy;
    int64_t lease_duration_ms;
    int64_t renew_ms;
    struct local_selector node_selector;
    const char *const *node_address_types; /* at least one: "InternalIP" */
    size_t n_node_address_types;
    const char *zone; /* NULL: that of the node of the director's name */
    bool is_gateway;  /* directorIsGateway */
    bool pods_routable;
    bool closed_ports_drop; /* closedPorts: drop */
    uint32_t route_table;
    uint8_t route_protocol;
    enum local_tunnel tunnel;
    uint16_t tunnel_port;
    bool set_sysctls;
    uint32_t mark_bit;
    bool api_loss_release; /* apiLoss: release */
    int64_t orphan_grace_ms;
    const char *sync_interface; /* connSync; NULL: none */
    uint8_t sync_id;
};
struct local_config {
    enum local_role role;
    const char *instance;
    bool default_class;
    const struct local_pool *pools; /* in the order of the file */
    size_t n_pools;
    const struct local_reservation *reservations;
    size_t n_reservations;
    int64_t reuse_delay_ms;
    int64_t release_delay_ms;
    enum local_ip_mode ip_mode;
    struct local_director_config director;
};

/* One thing that is wrong, or looks wrong, in the file. */
struct local_config_finding {
    bool is_error;    /* else a warning */
    size_t line;      /* 0: of no line */
    const char *text; /* without the file's name */
};
struct local_config_findings {
    struct local_config_finding *items; /* in the order of lines */
    size_t n;
};

/* Reads the text.  `role` overrides the file's (flag --local-role); NULL: it does not.
 * *ret_findings is set in any case.  Returns ERR_INVALID when one of them is an error; err has the
 * first, "FILE:LINE: …". */
int local_config_read(struct arena *a, const char *file, const char *text, size_t n,
                      const char *role, const struct local_config **ret,
                      struct local_config_findings *ret_findings, struct err *err) _warn_unused_;

/* IPv4 before IPv6, then by number. */
int local_addr_cmp(const struct ip_addr *a, const struct ip_addr *b);
/* Records whose first member is a struct ip_addr, by that. */
extern const struct index_kind local_addr_kind;
/* Labels sorted by key or not; a selector that is not given matches everything. */
bool local_selector_matches(const struct local_selector *s, const struct tt_kv *labels, size_t n);

/* Words as they stand in files and annotations; the empty text for a value that is none. */
const char *local_mode_word(enum local_mode mode);
const char *local_scheduler_word(enum local_scheduler scheduler);
const char *local_check_word(enum local_check check);
/* False when the text is none; *ret_meant is then a word that it is probably a slip of, or NULL
 * ("dr" → "ipvs-dr"). */
bool local_mode_parse(const char *text, enum local_mode *ret, const char **ret_meant);
bool local_scheduler_parse(const char *text, enum local_scheduler *ret, const char **ret_meant);
bool local_check_parse(const char *text, enum local_check *ret, const char **ret_meant);
bool local_targets_parse(const char *text, enum local_targets *ret);
bool local_snat_parse(const char *text, enum local_snat *ret);
bool local_sorry_parse(const char *text, struct local_sorry *ret);
/* ERR_INVALID for settings that do not go together, of a pool or of a Service: "scheduler lc needs
 * an ipvs mode; …".  `mode` is not LOCAL_MODE_AUTO. */
int local_fits(enum local_mode mode, enum local_scheduler scheduler, enum local_targets targets,
               bool pods_routable, struct err *err) _warn_unused_;
/* "1h30m", "24h", "500ms". */
#define LOCAL_DURATION_TEXT_MAX 48
void local_duration_text(int64_t ms, char out[LOCAL_DURATION_TEXT_MAX]);
/* `mode`, but nft for LOCAL_MODE_AUTO. */
enum local_mode local_mode_of(enum local_mode mode);
bool local_mode_is_ipvs(enum local_mode mode);
/* "DR and tunnel": the target takes packets for the VIP itself. */
bool local_mode_keeps_vip(enum local_mode mode);

#endif
