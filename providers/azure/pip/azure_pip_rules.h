/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_rules.h: public IPs: whose they are, which one a Service uses, what is to be made,
 * changed and released.
 *
 * A public IP is ours when its service tag names a Service; one without that tag is the user's and
 * is never tagged or deleted.  Several Services may share one: the tag is a list.  Everything here
 * looks at documents as they were listed and returns edited copies; nothing given is changed.
 * Source: docs/spec/azure.md 8; vectors 13.6; 18 row 9 (blank references are dropped).  Pure. */
#ifndef TRIMTAB_AZURE_PIP_RULES_H
#define TRIMTAB_AZURE_PIP_RULES_H

#include "common/base/err.h"
#include "providers/azure/model/azure_service.h"
#include "providers/azure/pip/azure_pip_find.h"

#include <stdbool.h>
#include <stddef.h>

/* 8.4 */
struct azure_pip_ownership {
    bool owns;
    bool user_assigned;
    /* Items of the service tag, trimmed, without blanks; none when the Service does not own it. */
    const char *const *
        /* items of the service tag, trimmed, without blanks; left out where neither the tag nor its
         * address or name speaks of the Service */
        services;
    size_t n_services;
};
/* Does its service tag name the Service?  One that the Service only selects belongs to those that
 * the tag names. */
bool azure_pip_names(const struct azure_pip_ownership *o, const char *key);
/* Is the public IP the namesake's, as far as its name and the namesake's wishes tell? */
bool azure_pip_is_left(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                       const struct azure_service *namesake, struct json_object *pip);
/* It bears the name that is generated for the Service and names no owner: its tags were
 * taken off.  One that an annotation of the Service names is the user's. */
bool azure_pip_is_stripped(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *s, struct json_object *pip);
struct azure_pip_ownership azure_pip_owner(struct arena *a, const struct azure_naming *n,
                                           const struct azure_service *s, struct json_object *pip);

/* 8.2: which public IP the Service uses for this family.  ERR_INVALID: an address that can be none;
 * ERR_NOT_FOUND: no public IP of the group has it. */
int azure_pip_determine(struct arena *a, const struct azure_naming *n,
                        const struct azure_service *s, enum azure_family f,
                        const struct azure_pips *pips, const char **ret_name, bool *ret_must_exist,
                        struct err *err) _warn_unused_;

/* 8.3: the public IP as the Service needs it. */
struct azure_pip_want {
    const char *name;
    const char *group;       /* resource group that it lies, or will lie, in */
    const char *id;          /* known also before it is made */
    struct json_object *was; /* NULL: to be made */
    /* to be written when `changed`: a copy of `was`, or new; arena-owned */
    struct json_object *doc;
    const char *why; /* the sentence for the plan, when doc differs */
    bool changed;
};
struct azure_pip_ask {
    const struct azure_naming *naming;
    const struct azure_service *service;
    enum azure_family family;
    const struct azure_pips *pips;
    const char *const *zones; /* of the region, for new ones */
    size_t n_zones;
    bool want; /* releasing: the Service stays */
    /* releasing: by what stands on the public IP.  One that the Service only selects belongs to
     * those that its tag names, one without tags to the Service whose generated name it has, and
     * one whose IP tags are others stays (azure_renew_rules.h).  false: as upstream, by what the
     * Service selects */
    bool by_marks;
    /* releasing: the Service of another UID that has its name by now; or NULL.  Tags hold no UIDs:
     * what they give to the name is left to that one, but for what is named after the
     * Service that goes */
    const struct azure_service *namesake;
    /* releasing: name by azure_pip_determine() of an external Service that stays, else NULL */
    const char *desired;
    /* releasing: the ID of that one, as there may be another of its name in another group; NULL:
     * the name decides, as upstream */
    const char *desired_id;
};
/* A new one, without tags of the configuration and without DNS label; owned by the arena. */
struct json_object *azure_pip_new(struct arena *a, const struct azure_pip_ask *ask,
                                  const char *name);
/* ERR_NOT_FOUND: an annotation names one that does not exist; ERR_IN_USE: its DNS label belongs to
 * another Service; ERR_INVALID: its family is the other one, … */
int azure_pip_ensure(struct arena *a, const struct azure_pip_ask *ask, struct azure_pip_want *ret,
                     struct err *err) _warn_unused_;

/* 8.8: what happens to the other public IPs of this family that the Service owns, and, without
 * `want`, to all. */
struct azure_pip_release {
    struct json_object *pip; /* as it was listed */
    struct json_object *doc; /* to be written; NULL: to be deleted */
    const char *why;
};
/* Those of one family; one that does not say counts as IPv4. */
struct azure_pips azure_pips_of_family(struct arena *a, const struct azure_pips *pips,
                                       enum azure_family f);
struct azure_pip_releases {
    const struct azure_pip_release *items;
    size_t n;
    bool found_desired;
    bool deleted_desired;
};
/* Public IPs that say they are of the other family are passed over; a sync hands over those of
 * azure_pips_of_family(), so that one that does not say is checked once. */
int azure_pip_releases(struct arena *a, const struct azure_pip_ask *ask,
                       struct azure_pip_releases *ret, struct err *err) _warn_unused_;

/* 8.6: tags of the configuration and the annotation, over them the ownership that is
 * there; true: it changed. */
bool azure_pip_tag(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                   struct json_object *pip);

/* ---- parts, as they are asked from outside (trimtab-eval) */
/* 8.3 (1), 8.8: adds names to the service tag of `tags` (edited in place); true: it changed. */
bool azure_pip_bind(struct arena *a, struct json_object *tags, const char *const *names, size_t n);
/* Takes a name out of the service tag; *ret_left is what stays.  ERR_INVALID: no tags at all. */
int azure_pip_unbind(struct arena *a, struct json_object *tags, const char *name,
                     bool user_assigned, const char *const **ret_left, size_t *ret_n,
                     struct err *err) _warn_unused_;
/* 8.5, edits `pip` in place. */
int azure_pip_set_dns(struct arena *a, struct json_object *pip, const char *service,
                      const char *label, bool user_assigned, bool *ret_changed,
                      struct err *err) _warn_unused_;
/* 8.7: "type=value,…" as an ARM array, sorted; and whether two such arrays say the same. */
struct json_object *azure_ip_tags_parse(struct arena *a, const char *text);
bool azure_ip_tags_eq(struct arena *a, struct json_object *x, struct json_object *y);

#endif
