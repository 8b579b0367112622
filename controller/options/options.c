/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: reading a command line by the table, as pflag does.
 *
 * Accepted: --name=value, --name value, -x value, -xvalue, -x=value; booleans without a value mean
 * true; '_' stands for '-' in names; "--" ends the flags.  Arguments that are not flags are
 * refused. */
#include "controller/options/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"

/* Where we are on the line. */
struct cursor {
    const struct options_input *in;
    int at;
};

struct flag_use {
    const struct option_def *def; /* NULL: unknown */
    const char *name;             /* as written, for messages: "--x" or "'z' in -z" */
    const char *value;            /* NULL: none was given with it */
};

struct option_def *options_full_table(struct arena *a, const struct tt_option *extra, size_t n,
                                      size_t *ret_n)
{
    static const enum option_type types[] = {
        [TT_OPTION_STRING] = OPTION_STRING, [TT_OPTION_BOOL] = OPTION_BOOL,
        [TT_OPTION_INT] = OPTION_INT,       [TT_OPTION_DURATION] = OPTION_DURATION,
        [TT_OPTION_LIST] = OPTION_LIST,
    };
    struct option_def *all = ARENA_ARRAY(a, struct option_def, options_table_n + n);

    memcpy(all, options_table, options_table_n * sizeof(*all));
    for (size_t i = 0; i < n; i++) {
        all[options_table_n + i] = (struct option_def){
            .name = extra[i].name,
            .section = "Flags of the provider",
            .default_text = str_nonnull(extra[i].default_text),
            .help = str_nonnull(extra[i].help),
            .type = extra[i].type < ARRAY_LEN(types) ? types[extra[i].type] : OPTION_STRING,
            .secret = extra[i].secret != 0,
            .offset = OPTION_NO_MEMBER,
        };
    }
    *ret_n = options_table_n + n;
    return all;
}

/* ---- finding flags on the line --------------------------------------------------------------- */

static bool name_matches(const char *written, size_t n, const char *name)
{
    if (strlen(name) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if ((written[i] == '_' ? '-' : written[i]) != name[i]) {
            return false;
        }
    }
    return true;
}

static const struct option_def *find_long(const struct option_def *table, size_t n_table,
                                          const char *written, size_t n)
{
    for (size_t i = 0; i < n_table; i++) {
        if (name_matches(written, n, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

static const struct option_def *find_short(const struct option_def *table, size_t n_table, char c)
{
    for (size_t i = 0; i < n_table; i++) {
        if (table[i].shorthand == c && c != '\0') {
            return &table[i];
        }
    }
    return NULL;
}

static const char *implied_value(const struct option_def *def)
{
    return def->type == OPTION_BOOL || def->type == OPTION_VERSION ? "true" : NULL;
}

/* Takes the flag at the cursor, and the word behind it when that is its value. */
static struct flag_use take_flag(struct arena *a, struct cursor *c, const struct option_def *table,
                                 size_t n_table)
{
    const char *word = c->in->argv[c->at++];
    struct flag_use use = {0};

    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        use.def = find_long(table, n_table, word + 2, n);
        use.name = arena_strndup(a, word, n + 2);
        use.value = word[2 + n] == '=' ? word + 3 + n : NULL;
    } else {
        use.def = find_short(table, n_table, word[1]);
        use.name = arena_printf(a, "'%c' in %s", word[1], word);
        if (word[2] != '\0') {
            use.value = word + 2 + (word[2] == '=');
        }
    }
    if (use.def != NULL && use.value == NULL) {
        use.value = implied_value(use.def);
        if (use.value == NULL && c->at < c->in->argc) {
            use.value = c->in->argv[c->at++];
        }
    }
    return use;
}

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

struct option_peek options_peek(struct arena *a, int argc, char *const *argv)
{
    const struct options_input in = {.argc = argc, .argv = argv};
    struct cursor c = {.in = &in, .at = 1};
    struct option_peek peek = {.cloud_provider = "", .plugin_dir = ""};

    for (size_t i = 0; i < options_table_n; i++) {
        if (strcmp(options_table[i].name, "provider-plugin-dir") == 0) {
            peek.plugin_dir = options_table[i].default_text;
        }
    }
    while (c.at < argc && strcmp(argv[c.at], "--") != 0) {
        if (!is_flag(argv[c.at])) {
            c.at++;
            continue;
        }
        struct flag_use use = take_flag(a, &c, options_table, options_table_n);
        if (use.def != NULL && use.value != NULL && strcmp(use.def->name, "cloud-provider") == 0) {
            peek.cloud_provider = use.value;
        }
        if (use.def != NULL && use.value != NULL &&
            strcmp(use.def->name, "provider-plugin-dir") == 0) {
            peek.plugin_dir = use.value;
        }
        if (use.def != NULL && use.value != NULL &&
            strcmp(use.def->name, "allow-writable-plugins") == 0) {
            (void)str_to_go_bool(use.value, &peek.allow_writable); /* the parser complains */
        }
    }
    return peek;
}

/* ---- setting values -------------------------------------------------------------------------- */

static void *member_of(struct options *o, const struct option_def *def)
{
    return def->offset == OPTION_NO_MEMBER ? NULL : (char *)o + def->offset;
}

static struct option_value *value_of(struct options *o, const struct option_def *def)
{
    return &o->values[def - o->values[0].def];
}

static const char *shown_name(struct arena *a, const struct option_def *def)
{
    if (def->shorthand != '\0') {
        return arena_printf(a, "-%c, --%s", def->shorthand, def->name);
    }
    return arena_printf(a, "--%s", def->name);
}

static int set_value(struct options *o, const struct option_def *def, const char *text,
                     struct err *err)
{
    struct option_value *v = value_of(o, def);
    struct err why = ERR_INIT;
    const char *canonical = NULL;
    bool grows = (def->type == OPTION_LIST || def->type == OPTION_STRINGS) && v->set;

    if (option_read(o->a, def->type, text, !v->set, member_of(o, def), &canonical, &why) !=
        ERR_OK) {
        _cleanup_(str_buf_done) struct str_buf quoted = STR_BUF_INIT;
        str_append_go_quoted(&quoted, def->secret ? "***" : text);
        return err_set(err, ERR_INVALID, "invalid argument %s for \"%s\" flag: %s",
                       str_buf_text(&quoted), shown_name(o->a, def), why.message);
    }
    v->text = grows ? arena_printf(o->a, "%s,%s", v->text, canonical) : canonical;
    v->set = true;
    return ERR_OK;
}

static int set_defaults(struct options *o, struct err *err)
{
    for (size_t i = 0; i < o->n_values; i++) {
        const struct option_def *def = o->values[i].def;
        int rc = option_read(o->a, def->type, def->default_text, true, member_of(o, def),
                             &o->values[i].text, err);
        if (rc != ERR_OK) {
            (void)err_prefix(err, "default of --%s", def->name);
            return rc;
        }
    }
    return ERR_OK;
}

static int unknown_flag(struct arena *a, const struct flag_use *use, const struct options *o,
                        struct err *err)
{
    if (use->name[0] == '\'') {
        return err_set(err, ERR_INVALID, "unknown shorthand flag: %s", use->name);
    }
    const char **names = ARENA_ARRAY(a, const char *, o->n_values);
    for (size_t i = 0; i < o->n_values; i++) {
        names[i] = o->values[i].def->name;
    }
    const char *near = str_nearest(use->name + 2, names, o->n_values);
    if (near != NULL) {
        return err_set(err, ERR_INVALID, "unknown flag: %s; did you mean --%s?", use->name, near);
    }
    return err_set(err, ERR_INVALID, "unknown flag: %s", use->name);
}

static int take_one(struct options *o, struct cursor *c, const struct option_def *table, size_t n,
                    struct err *err)
{
    struct flag_use use = take_flag(o->a, c, table, n);

    if (use.def == NULL) {
        return unknown_flag(o->a, &use, o, err);
    }
    if (use.value == NULL) {
        return err_set(err, ERR_INVALID, "flag needs an argument: %s", use.name);
    }
    if (use.def->deprecated != NULL && c->in->warn != NULL) {
        c->in->warn(c->in->warn_arg, arena_printf(o->a, "Flag --%s has been deprecated, %s",
                                                  use.def->name, use.def->deprecated));
    }
    return set_value(o, use.def, use.value, err);
}

static int take_all(struct options *o, const struct options_input *in,
                    const struct option_def *table, size_t n, struct err *err)
{
    struct cursor c = {.in = in, .at = 1};
    const char **words = ARENA_ARRAY(o->a, const char *, in->argc);
    size_t n_words = 0;
    bool only_words = false;

    while (c.at < in->argc) {
        if (!only_words && strcmp(in->argv[c.at], "--") == 0) {
            only_words = true;
            c.at++;
        } else if (only_words || !is_flag(in->argv[c.at])) {
            words[n_words++] = in->argv[c.at++];
        } else if (take_one(o, &c, table, n, err) != ERR_OK) {
            return err->code;
        }
    }
    if (n_words > 0 && !o->help) {
        _cleanup_(str_buf_done) struct str_buf list = STR_BUF_INIT;
        for (size_t i = 0; i < n_words; i++) {
            str_append(&list, i > 0 ? " " : "");
            str_append_go_quoted(&list, words[i]);
        }
        return err_set(err, ERR_INVALID, "\"%s\" does not take any arguments, got [%s]",
                       in->program, str_buf_text(&list));
    }
    return ERR_OK;
}

/* ---- the provider's values ------------------------------------------------------------------- */

static int compare_kv(const void *a, const void *b)
{
    return strcmp(((const struct tt_kv *)a)->key, ((const struct tt_kv *)b)->key);
}

static const char *value_for_provider(struct arena *a, const struct option_value *v)
{
    int64_t ns = 0;

    if (v->def->type != OPTION_DURATION || duration_parse(v->text, &ns, NULL) != ERR_OK) {
        return v->text;
    }
    return arena_printf(a, "%lld", (long long)(ns / 1000000));
}

/* Its own options, and --repair-adopted, which is every provider's business. */
static void fill_provider_values(struct options *o)
{
    size_t n = 0;

    o->provider_values = ARENA_ARRAY(o->a, struct tt_kv, o->n_values - options_table_n + 1);
    for (size_t i = options_table_n; i < o->n_values; i++) {
        const struct option_value *v = &o->values[i];
        o->provider_values[n++] =
            (struct tt_kv){.key = v->def->name, .value = value_for_provider(o->a, v)};
    }
    o->provider_values[n++] =
        (struct tt_kv){.key = "repair-adopted", .value = o->repair_adopted ? "true" : "false"};
    o->n_provider_values = n;
    qsort(o->provider_values, n, sizeof(*o->provider_values), compare_kv);
}

int options_parse(const struct options_input *in, struct options **ret, struct err *err)
{
    struct arena *a = arena_new();
    struct options *o = ARENA_NEW(a, struct options);
    const struct option_def *table = options_full_table(a, in->extra, in->n_extra, &o->n_values);

    o->a = a;
    o->values = ARENA_ARRAY(a, struct option_value, o->n_values);
    for (size_t i = 0; i < o->n_values; i++) {
        o->values[i].def = &table[i];
    }
    int rc = set_defaults(o, err);
    if (rc == ERR_OK) {
        rc = take_all(o, in, table, o->n_values, err);
    }
    if (rc != ERR_OK) {
        options_free(o);
        return rc;
    }
    fill_provider_values(o);
    *ret = o;
    return ERR_OK;
}

void options_free(struct options *o)
{
    if (o != NULL) {
        arena_free(o->a);
    }
}
