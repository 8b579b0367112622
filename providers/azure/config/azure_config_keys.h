/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_keys.h: the keys of the cloud-config: their types, and where their values go.
 *
 * One row per key that is accepted, those included that other controllers read from the same file;
 * so that "unknown" means a slip of the pen.  Between azure_config_keys.c (the table),
 * azure_config_read.c (the decoder) and azure_config.c (what follows from it).
 * Source: docs/spec/azure.md 1.2, 1.3, 3.7.  Pure. */
#ifndef TRIMTAB_AZURE_CONFIG_KEYS_H
#define TRIMTAB_AZURE_CONFIG_KEYS_H

#include "common/data/json.h"
#include "providers/azure/model/azure_config.h"

#include <stddef.h>

enum azure_key_type {
    AZURE_KEY_TEXT = 1, /* const char *; numbers and booleans count as their text (18 row 5) */
    AZURE_KEY_SWITCH,   /* bool */
    AZURE_KEY_FLAG,     /* struct azure_flag: absent is not false */
    AZURE_KEY_NUMBER,   /* int32_t */
    AZURE_KEY_REAL,     /* double */
    AZURE_KEY_MAP,      /* struct json_object *: values that count as text */
    AZURE_KEY_OBJECT,   /* struct json_object * */
    AZURE_KEY_LIST,     /* struct json_object * */
    /* a structure of its own, read by the table `below`; it begins with `bool given` */
    AZURE_KEY_BLOCK,
    /* const char *; only text: Go's decoder spells out numbers for outer structures alone */
    AZURE_KEY_WORD,
    AZURE_KEY_NAMES, /* struct name_list: a list of texts; absent is not empty */
};
/* Its offset says that the value is checked and dropped. */
#define AZURE_KEY_UNUSED ((size_t)-1)
struct azure_key {
    const char *name; /* NULL ends a table */
    enum azure_key_type type;
    size_t offset;                 /* inside struct azure_raw, struct azure_raw_lb, or the block */
    const struct azure_key *below; /* BLOCK */
};
struct azure_flag {
    bool given;
    bool on;
};
/* Contents of the file; texts are never NULL, trees are borrowed. */
struct azure_raw {
    struct azure_config c;
    struct azure_flag exclude_masters;
    struct azure_flag disable_outbound_snat;
    struct json_object *tags_map;
    struct json_object *lbs;
};
struct azure_raw_lb {
    const char *name;
    const char *primary_vm_set;
    struct azure_flag allow_placement;
    struct json_object *services;
    struct json_object *namespaces;
    struct json_object *nodes;
};
extern const struct azure_key azure_config_keys[];
extern const struct azure_key azure_lb_config_keys[];

/* Collects members that are not read. */
struct azure_unknown_list {
    struct azure_unknown_key *items;
    size_t n;
    size_t cap;
};
/* Where an error is: the text is looked through again for the key's line. */
struct azure_where {
    const char *text;
    size_t n;
    const char *file; /* as azure_config_text.file */
    const char *path; /* "" or "multipleStandardLoadBalancerConfigurations[0]." */
    int below;        /* as azure_config_line() */
    int nth;
};
/* Texts that are not given are "", not NULL: for fresh memory, before the first
 * azure_keys_read(). */
void azure_keys_clear(const struct azure_key *keys, void *out);
/* Fills `out` by the table; what is absent stays as it is, so a second tree overrides a first.
 * ERR_INVALID:  "line 3: vmType: want text, got a list". */
int azure_keys_read(struct arena *a, struct json_object *o, const struct azure_key *keys,
                    const struct azure_where *place, void *out, struct azure_unknown_list *unknown,
                    struct err *err) _warn_unused_;
/* A scalar as text, as Go's YAML decoder makes one of it; NULL for lists and objects. */
const char *azure_scalar_text(struct arena *a, struct json_object *v);

#endif
