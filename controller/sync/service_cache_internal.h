/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache_internal.h: the members of a service_cache.
 * Private to service_cache.c, service_cache_marks.c and their tests. */
#ifndef TRIMTAB_SYNC_SERVICE_CACHE_INTERNAL_H
#define TRIMTAB_SYNC_SERVICE_CACHE_INTERNAL_H

#include "common/base/index.h"
#include "common/base/lock.h"
#include "controller/kube/store/held.h"
#include "controller/sync/service_cache.h"

/* Members that few entries have, or only for a moment. */
struct rare {
    char *foreign_uid;
    char *let_go_uid;
    char *marked_uid;
    enum mark mark;      /* that was written to it */
    bool owed;           /* … and the one that names the addresses was refused */
    uint32_t lost;       /* finalizers: bits of scope_lost_finalizers() */
    uint64_t unreadable; /* as last told, 0: it could be read */
    int64_t waits_ms;
    uint64_t *findings; /* n_findings of them; NULL: none */
    size_t n_findings;
    uint64_t nobody;
    char *refusal; /* of its replacement (former_rules.h) */
    struct service_futile futile;
    uint64_t own_nodes; /* 0: not known */
};

/* There is one for each Service of the cluster: its members are those of struct
 * service_known, in 72 bytes and the key. */
struct known {
    struct kube_held state;
    struct kube_held accepted;
    struct node_digests nodes;
    uint64_t endpoints;
    uint64_t drift;
    uint64_t addresses; /* as published last; 0: not known */
    struct rare *rare;  /* NULL: all of it is zero */
    bool ours : 1;
    bool foreign : 1;
    bool stuck : 1;
    bool half : 1;
    bool refused : 1;
    bool replacing : 1;
    bool whole : 1;
    bool gone : 1;
    bool behind : 1;
    bool wait_told : 1;
    bool has_nodes : 1;
    bool by_own : 1;
    bool has_endpoints : 1;
    bool has_findings : 1;
    bool gave_addresses : 1;
    char key[];
};

struct service_cache {
    struct mutex lock;
    struct index entries _guarded_by_(lock); /* struct known */
    bool has_passed _guarded_by_(lock);
    struct node_digests passed _guarded_by_(lock); /* of the last pass over all entries */
};

/* The rare members of an entry, made when there are none. */
struct rare *service_cache_rare_of(struct known *e);
/* Frees them if nothing is in them. */
void service_cache_tidy_rare(struct known *e);

#endif
