/* SPDX-License-Identifier: Apache-2.0 */
/* aws_service_rules.h: the steps of reading a Service that answer a question of their own.  Pure.
 *
 * aws_service_read() takes them in upstream's order (docs/spec/aws.md 4.1); trimtab-eval asks some
 * by themselves. */
#ifndef TRIMTAB_AWS_SERVICE_RULES_H
#define TRIMTAB_AWS_SERVICE_RULES_H

#include "common/base/strset.h"
#include "providers/aws/model/aws_service.h"

enum aws_kind aws_service_kind(const struct tt_service *s);
/* 4.2 items 2 and 3: annotations that the kind cannot have, and attributes of target groups. */
int aws_service_check_annotations(struct arena *a, const struct tt_service *s, struct err *err);
/* 4.3: sorted, canonical, both families.  Spellings that are read in two ways (leading zeros, IPv4
 * as IPv6) are refused. */
int aws_service_ranges(struct arena *a, const struct tt_service *s, struct str_set *ret,
                       struct err *err);
/* 4.1 item 5, 7: one protocol for all ports, and one that the kind serves. */
int aws_service_check_protocols(const struct tt_service *s, enum aws_kind kind, struct err *err);
/* Ports that have a node port, with `tls` by the rule of the kind (4.4, 5.1). */
const struct aws_service_port *aws_service_ports(struct arena *a, const struct tt_service *s,
                                                 enum aws_kind kind, size_t *ret_n);
/* Of an NLB with MixedProtocols (13 row 33): `ports` with those of one number joined to one of
 * protocol "TCP_UDP".  ERR_INVALID: another protocol than TCP and UDP, or ports that one listener
 * cannot serve. (aws_mixed_rules.c) */
int aws_service_mix_ports(struct arena *a, const struct tt_service *s,
                          const struct aws_service_port *ports, size_t n,
                          const struct aws_service_port **ret, size_t *ret_n, struct err *err);
/* 4.4: listeners of a classic load balancer, in the order of the ports. */
int aws_service_listeners(struct arena *a, const struct tt_service *s,
                          const struct aws_service_port *ports, size_t n,
                          const struct aws_classic_listener **ret, struct err *err);

#endif
