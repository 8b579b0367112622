/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_ipvs.h: IPVS of the kernel in memory: virtual services, destinations, and the errors
 * of Linux (fake_kernel.h). */
#ifndef TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_IPVS_H
#define TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_IPVS_H

#include "providers/local/kernel/kernel.h"

struct fake_ipvs;
struct fake_ipvs *fake_ipvs_new(void);
void fake_ipvs_free(struct fake_ipvs *x);
uint64_t fake_ipvs_requests(const struct fake_ipvs *x);
/* The functions of the same names in kernel.h. */
int fake_ipvs_look(struct local_kernel *k, struct err *err);
int fake_ipvs_services(struct local_kernel *k, struct arena *a, struct local_ipvs_service **ret,
                       size_t *ret_n, struct err *err);
int fake_ipvs_traffic(struct local_kernel *k, struct arena *a, struct local_ipvs_traffic **ret,
                      size_t *ret_n, struct err *err);
int fake_ipvs_read(struct local_kernel *k, struct arena *a, struct local_ipvs_list *ret,
                   struct err *err);
int fake_ipvs_change(struct local_kernel *k, const struct local_ipvs_change *changes, size_t n,
                     int *ret_codes, struct err *err);
int fake_ipvs_daemons(struct local_kernel *k, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                      size_t *ret_n, struct err *err);
int fake_ipvs_daemon_change(struct local_kernel *k, bool stop, const struct local_ipvs_daemon *d,
                            struct err *err);
/* Around whatever reaches the kernel: where the faults are (fake_kernel.c). */
int fake_kernel_step(struct local_kernel *k, uint64_t *requests, struct err *err);
int fake_kernel_done(struct local_kernel *k, int code, struct err *err);
/* Answers were lost (FAKE_KERNEL_OVERRUN) in a step after this one. */
bool fake_kernel_overran(const struct local_kernel *k, unsigned since);
/* Of this kernel. */
struct fake_ipvs *fake_kernel_ipvs(const struct local_kernel *k);

#endif
