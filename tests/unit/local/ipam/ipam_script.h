/* SPDX-License-Identifier: Apache-2.0 */
/* ipam_script.h: the allocator as a script, so that a row of a table is one line.
 *
 *     "see d/a; grant d/a; see d/b st=10.0.0.0; gone d/a; at 61"  →  "d/a=10.0.0.0 "
 *
 * Commands, parted by ";":
 *   see KEY …       the Service as it is now.  Words: st=IP,… (status) key=SHARE ask=IP,… pool=NAME
 *                   fam=4|6|46|64 pol=P|R ports=53/UDP,… label=K:V nslabel=K:V created=N, and no
 *                   (wants none) ours move noips bad (wishes unreadable)
 *   pub KEY         its status gets what it was granted last; the rest is as it was seen last
 *   gone KEY        it is gone
 *   at SECONDS      so late it is
 *   remember KEY IP found in the kernel
 *   grant KEY, would KEY   adds "KEY=IP,IP ", with "-IP" for what is to go, "?" second family
 *                          missing, "^" outside, "~" share broken;
 *                   on failure "KEY!CODE(message) " in front of what it keeps
 *   waiting         adds "waiting(KEY,…) " */
#ifndef TESTS_UNIT_LOCAL_IPAM_SCRIPT_H
#define TESTS_UNIT_LOCAL_IPAM_SCRIPT_H

#include "common/base/arena.h"
#include "providers/local/ipam/ipam.h"

struct ipam_script {
    struct arena *a;
    struct intern_table *texts;
    struct local_ipam *ipam;
    const struct local_config *config;
    struct map *seen; /* KEY → the words of its last "see" */
    struct map *told; /* KEY → what it was granted last, "IP,IP" */
    int64_t now_ms;
};
/* Pools: "p=10.0.0.0-10.0.0.7 q=…,… flags": words after the ranges of a pool, parted by "/":
 * noauto, buggy, prio5, ns:x, sel:K:V, nssel:K:V, ex:FIRST-LAST.  Reservations: "d/a@10.0.0.7". */
void ipam_script_begin(struct ipam_script *s, struct arena *a, const char *pools);
void ipam_script_end(struct ipam_script *s);
/* Returns what the script prints. */
const char *ipam_script_run(struct ipam_script *s, const char *script);

#endif
