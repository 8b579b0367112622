/* SPDX-License-Identifier: Apache-2.0 */
/* word_rules.h: is a text the kind of word that a reader outside of this program accepts?  Pure.
 *
 * Prometheus drops a whole page for one bad name, and the API server answers 422 to a whole status
 * for one bad address, forever.  So words of a provider are compared with these rules before
 * anything is made of them: descriptors when they are loaded (plugin_tables.c), results when they
 * are handed over (host_result.c).
 * Sources: Prometheus' data model (names, labels); Kubernetes' validation of qualified names, DNS
 * names and conditions. */
#ifndef TRIMTAB_CONTROLLER_WORD_RULES_H
#define TRIMTAB_CONTROLLER_WORD_RULES_H

#include <stdbool.h>

/* Every function returns false for NULL and "". */
bool word_is_metric(const char *s);    /* [a-zA-Z_:][a-zA-Z0-9_:]*, at most 200 bytes */
bool word_is_label(const char *s);     /* [a-zA-Z_][a-zA-Z0-9_]*, not "__…", at most 200 bytes */
bool word_is_dns_label(const char *s); /* [a-z0-9]([a-z0-9-]*[a-z0-9])?, at most 63 */
bool word_is_dns_subdomain(const char *s); /* labels joined by dots, at most 253 */
/* "example.com/Name" or "Name": keys of annotations, finalizers, classes, types of conditions. */
bool word_is_qualified(const char *s);
/* Reason of an event or a condition: a letter, then letters, digits and [_,:], at most 128. */
bool word_is_reason(const char *s);
/* A host name that is not an IP address, as the API server requires in an ingress. */
bool word_is_hostname(const char *s);
/* "v1", "apps/v1". */
bool word_is_api_version(const char *s);
/* "configmaps", "services/status". */
bool word_is_resource(const char *s);

#endif
