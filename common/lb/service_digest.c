/* SPDX-License-Identifier: Apache-2.0 */
/* service_digest.c: see service_digest.h. */
#include "common/lb/service_digest.h"
#include "common/base/hash.h"
#include "common/base/str.h"

#include <string.h>

#define OWN_PREFIX "trimtab.io/"

static uint64_t mix_text(uint64_t h, const char *text)
{
    return text == NULL ? hash_bytes(h, "\1", 1) : hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t h, int64_t n)
{
    return hash_bytes(h, &n, sizeof(n));
}

static uint64_t mix_texts(uint64_t h, const char *const *texts, uint32_t n)
{
    h = mix_number(h, n);
    for (uint32_t i = 0; i < n; i++) {
        h = mix_text(h, texts[i]);
    }
    return h;
}

static bool is_written_by_us(const char *const *own, uint32_t n_own, const char *key)
{
    if (str_has_prefix(key, OWN_PREFIX)) {
        return true;
    }
    for (uint32_t i = 0; i < n_own; i++) {
        size_t n = strlen(own[i]);
        bool begins = n > 0 && own[i][n - 1] == '*';
        if (begins ? strncmp(key, own[i], n - 1) == 0 : strcmp(key, own[i]) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t mix_ports(uint64_t h, const struct tt_service *s)
{
    h = mix_number(h, s->n_ports);
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const struct tt_port *p = &s->ports[i];
        h = mix_text(mix_text(mix_text(h, p->name), p->protocol), p->app_protocol);
        h = mix_number(mix_number(h, p->port), p->node_port);
    }
    return h;
}

uint64_t svc_digest(uint64_t seed, const struct tt_service *s, const char *const *own,
                    uint32_t n_own)
{
    uint64_t h = mix_number(mix_text(seed, s->uid), s->deleted_us != 0);
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (!is_written_by_us(own, n_own, s->annotations[i].key)) {
            h = mix_text(mix_text(h, s->annotations[i].key), s->annotations[i].value);
        }
    }
    h = mix_text(mix_text(mix_text(h, s->type), s->lb_class), s->lb_ip);
    h = mix_ports(h, s);
    h = mix_number(mix_text(h, s->session_affinity), s->affinity_timeout_s);
    h = mix_number(h, s->health_check_node_port);
    h = mix_texts(h, s->source_ranges, s->n_source_ranges);
    h = mix_texts(h, s->external_ips, s->n_external_ips);
    h = mix_text(mix_text(h, s->external_traffic_policy), s->internal_traffic_policy);
    h = mix_texts(h, s->ip_families, s->n_ip_families);
    h = mix_text(mix_text(h, s->ip_family_policy), s->traffic_distribution);
    return h == 0 ? 1 : h;
}
