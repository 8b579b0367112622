/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c: members inside of a setting of a cloud ("quotas", "throttle"): a name or value that
 * the cloud's code never asks for is refused, as a setting that it does not have is.  The names
 * themselves are the clouds'.  Pure. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/sim.h"

static bool is_among(const char *name, const char *const *names)
{
    while (*names != NULL && !str_eq(*names, name)) {
        names++;
    }
    return *names != NULL;
}

int sim_settings_numbers(const char *setting, struct json_object *value, const char *const *names,
                         struct err *err)
{
    if (value == NULL) {
        return ERR_OK;
    }
    if (!json_object_is_type(value, json_type_object)) {
        return err_set(err, ERR_INVALID, "setting \"%s\": want an object", setting);
    }
    json_object_object_foreach(value, name, number)
    {
        if (!is_among(name, names)) {
            return err_set(err, ERR_INVALID, "setting \"%s\" has no \"%s\"", setting, name);
        }
        if (!json_object_is_type(number, json_type_int) || json_object_get_int64(number) < 0) {
            return err_set(err, ERR_INVALID, "setting \"%s\": \"%s\" cannot be %s", setting, name,
                           json_object_to_json_string(number));
        }
    }
    return ERR_OK;
}

int sim_settings_buckets(const char *setting, struct json_object *value, const char *const *names,
                         struct err *err)
{
    static const char *const members[] = {"bucket", "per_second", NULL};
    if (value == NULL) {
        return ERR_OK;
    }
    if (!json_object_is_type(value, json_type_object)) {
        return err_set(err, ERR_INVALID, "setting \"%s\": want an object", setting);
    }
    json_object_object_foreach(value, name, bucket)
    {
        if (!is_among(name, names)) {
            return err_set(err, ERR_INVALID, "setting \"%s\" has no \"%s\"", setting, name);
        }
        int rc = sim_settings_numbers(name, bucket, members, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

int sim_settings_texts(const char *setting, struct json_object *list, const char *const *words,
                       struct err *err)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_string) ||
            (words != NULL && !is_among(json_object_get_string(item), words))) {
            return err_set(err, ERR_INVALID, "setting \"%s\": an item cannot be %s", setting,
                           json_object_to_json_string(item));
        }
    }
    return ERR_OK;
}
