/* SPDX-License-Identifier: Apache-2.0 */
/* name_rules.h: names of a cloud's things that a Service's owner writes: do they follow the cloud's
 * published pattern?
 *
 * A name that the cloud could never have given is refused before the first call, with the field and
 * the pattern.  Whether a Service is new, edited or stands already decides how strict the check is:
 *
 *     new, or the field was edited                   the pattern counts
 *     the Service stands, the field is as it was     only what could lead to another thing is
 *                                                    refused
 *
 * "Stands" means that the status has an address, and that this process has not seen another value:
 * a Service that some other controller provisioned with a name that the cloud once took continues,
 * whatever the cloud's page says today.  Pure. */
#ifndef TRIMTAB_LB_NAME_RULES_H
#define TRIMTAB_LB_NAME_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

/* A kind of name.  Sets are characters with ranges, as between the brackets of a regular expression
 * ("a-z0-9_.-"; a '-' at the end is itself). */
struct name_rule {
    const char *what;    /* with its article: "the name of a subnet" */
    const char *pattern; /* as the cloud's page has it; shown to people */
    size_t min;          /* characters; at least 1 */
    size_t max;
    const char *first; /* set of the first character */
    const char *inner; /* set of the others; '/' only where a path is meant */
    const char *last;  /* set of the last one */
    bool letters;      /* any Unicode letter or digit may stand anywhere, too */
};

/* Does `text` follow the pattern?  NULL and "" never do. */
bool name_rule_holds(const struct name_rule *r, const char *text);

/* How a field is to be judged. */
enum name_state {
    NAME_IS_NEW = 0, /* the Service is new, or the field was edited: by the pattern */
    NAME_STANDS = 1, /* only by what could lead elsewhere (url_segment_fault()) */
};
/* By the annotation `key`; `previous` is the Service as it was synced before, or NULL.  It stands
 * as lb_service_stands() says:  another program may have wiped the status. */
enum name_state svc_annotation_state(const struct tt_service *s, const struct tt_service *previous,
                                     const char *key);

/* ERR_INVALID with "FIELD: "TEXT": want WHAT (PATTERN)".  With NAME_STANDS a text passes that is
 * one harmless segment; then the message says what it holds.  `field` is as people write it:
 * "annotation service.beta…/azure-pip-name".  `err` may be NULL. */
int name_check(const struct name_rule *r, const char *field, const char *text,
               enum name_state state, struct err *err) _warn_unused_;

/* An annotation that names something. */
struct name_field {
    const char *key;              /* the whole key */
    const struct name_rule *rule; /* NULL: `also` judges by itself */
    /* '\0': one name; ' ' or ',': a list; '=': the left sides of pairs with commas between them */
    char separator;
    const char *word; /* a text that counts beside names ("*"), compared without case; or NULL */
    int kind;         /* the provider's own */
    /* One name that the provider takes as it is written: blanks around it belong to it, and blanks
     * alone are a name, too.  Else they are cut off, and blanks alone name nothing. */
    bool literal;
    bool lone; /* '=': a piece without '=' is a left side, too */
};
/* One name under check, for struct name_fields.also. */
struct name_seen {
    const struct name_field *field;
    const char *where; /* "annotation KEY" */
    const char *name;  /* without blanks at its ends, unless literal; never "" */
    enum name_state state;
};
struct name_fields {
    const char *provider; /* its name (mark_rules.h) */
    const struct name_field *fields;
    size_t n;
    /* A further check of a name that follows its rule, with the same codes and message.
     * May be NULL. */
    int (*also)(void *arg, const struct name_seen *seen, struct err *err);
    /* Does this Service's kind of load balancer use the field at all?  A field that is not
     * read does no harm, and a load balancer that works is not held up for it.  NULL: each one
     * counts. */
    bool (*counts)(void *arg, const struct name_field *field, const struct tt_service *s);
    void *arg;
};
/* Checks every field of the table that the Service has.  `previous`: the Service as it was synced
 * before, or NULL.  On a load balancer that trimtab made (mark_rules.h) no text stands that does
 * not follow its rule: it is an edit, whenever it was made.  ERR_INVALID with the first fault, as
 * name_check().  A text that is blank (not literal), or no pair (not lone), names nothing. */
int names_check(struct arena *a, const struct name_fields *f, const struct tt_service *s,
                const struct tt_service *previous, struct err *err) _warn_unused_;

/* A list of what a cloud-config allows; n 0 with has false: everything, as upstream. */
struct name_list {
    const char *const *items;
    size_t n;
    bool has; /* the key is there; with n 0 nothing is allowed */
};
/* ERR_INVALID: "WHERE: "NAME": the cloud-config does not allow this WHAT (KEY)". */
int name_not_allowed(const struct name_seen *seen, const char *name, const char *what,
                     const char *key, struct err *err);
/* `nocase`: names of a cloud that does not tell letters' case apart. */
bool name_list_allows(const struct name_list *l, const char *name, bool nocase);

#endif
