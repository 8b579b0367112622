/* SPDX-License-Identifier: Apache-2.0 */
/* aws_profile.c: see aws_profile.h: both files as one list of values, looked through for each
 * question.
 *
 * The form is AWS' own: names of sections with case, of keys without; a comment begins a line, or
 * follows a blank; a line that begins with a blank belongs to the key above it (the blocks of
 * [services NAME]). */
#include "providers/aws/auth/aws_profile.h"

#include "common/base/file.h"
#include "common/base/str.h"

#include <limits.h>
#include <string.h>

#define FILE_MAX   ((size_t)1024 * 1024)
#define VALUES_MAX ((size_t)20000)

enum origin {
    CONFIG = 0,
    CREDENTIALS,
};
struct value {
    enum origin origin;
    /* "profile x", "default", "services x"; of CREDENTIALS the profile's name */
    const char *section;
    const char *block; /* the key above, of a value in a block; else "" */
    const char *key;   /* lower case; "" for the header itself */
    const char *text;
};
struct aws_profiles {
    struct value *values; /* in the order of the files */
    size_t n;
};
struct reader {
    struct arena *a;
    struct aws_profiles *p;
    enum origin origin;
    const char *section; /* NULL: before the first header */
    const char *above;   /* the last key that did not begin with a blank */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Up to a comment that follows a blank. */
static char *without_comment(struct arena *a, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] == '#' || s[i] == ';') && is_blank(s[i - 1])) {
            n = i;
        }
    }
    return str_trim(a, arena_strndup(a, s, n));
}

/* "[ profile  "a b" ]" is "profile a b". */
static const char *section_of(struct arena *a, const char *line)
{
    const char *end = strchr(line, ']');
    if (end == NULL) {
        return NULL;
    }
    char *inside = str_trim(a, arena_strndup(a, line + 1, (size_t)(end - line - 1)));
    size_t kind = strcspn(inside, " \t");
    if (inside[kind] == '\0') {
        return inside;
    }
    char *name = str_trim(a, inside + kind);
    size_t n = strlen(name);
    if (n >= 2 && (name[0] == '"' || name[0] == '\'') && name[n - 1] == name[0]) {
        name = arena_strndup(a, name + 1, n - 2);
    }
    return arena_printf(a, "%.*s %s", (int)kind, inside, name);
}

static void add(struct reader *r, const char *block, const char *key, const char *text)
{
    r->p->values[r->p->n++] = (struct value){
        .origin = r->origin, .section = r->section, .block = block, .key = key, .text = text};
}

static void read_pair(struct reader *r, const char *line)
{
    const char *equals = strchr(line, '=');
    if (equals == NULL || r->section == NULL) {
        return;
    }
    const char *name = str_trim(r->a, arena_strndup(r->a, line, (size_t)(equals - line)));
    const char *key = str_lower(r->a, name);
    const char *text = without_comment(r->a, equals + 1);
    if (is_blank(line[0])) {
        add(r, str_nonnull(r->above), key, text);
    } else {
        r->above = key;
        add(r, "", key, text);
    }
}

static void read_line(struct reader *r, const char *line)
{
    if (line[0] == '[') {
        r->section = section_of(r->a, line);
        r->above = NULL;
        if (r->section != NULL) {
            add(r, "", "", "");
        }
    } else if (line[0] != '#' && line[0] != ';') {
        read_pair(r, line);
    }
}

static int read_text(struct reader *r, const char *text, size_t n, struct err *err)
{
    r->section = NULL;
    r->above = NULL;
    if (memchr(text, '\0', n) != NULL) {
        return err_set(err, ERR_INVALID, "a NUL in a file of profiles");
    }
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : n - at;
        size_t kept = len > 0 && text[at + len - 1] == '\r' ? len - 1 : len;
        if (r->p->n == VALUES_MAX) {
            return err_set(err, ERR_INVALID, "more than %zu values in files of profiles",
                           VALUES_MAX);
        }
        read_line(r, arena_strndup(r->a, text + at, kept));
        at += len + 1;
    }
    return ERR_OK;
}

static size_t lines_in(const char *text, size_t n)
{
    size_t lines = 1;
    for (size_t i = 0; i < n; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

int aws_profiles_parse(struct arena *a, const char *config, size_t n_config,
                       const char *credentials, size_t n_credentials,
                       const struct aws_profiles **ret, struct err *err)
{
    struct aws_profiles *p = ARENA_NEW(a, struct aws_profiles);
    struct reader r = {.a = a, .p = p, .origin = CONFIG};
    size_t lines = (config != NULL ? lines_in(config, n_config) : 0) +
                   (credentials != NULL ? lines_in(credentials, n_credentials) : 0);
    p->values = ARENA_ARRAY(a, struct value, lines < VALUES_MAX ? lines : VALUES_MAX);
    int rc = config != NULL ? read_text(&r, config, n_config, err) : ERR_OK;
    if (rc == ERR_OK && credentials != NULL) {
        r.origin = CREDENTIALS;
        rc = read_text(&r, credentials, n_credentials, err);
    }
    if (rc == ERR_OK) {
        *ret = p;
    }
    return rc;
}

static int read_file(struct arena *a, const struct aws_env *env, const char *variable,
                     const char *below_home, char **ret, size_t *ret_n, struct err *err)
{
    const char *path = aws_env_get(env, variable);
    const char *home = aws_env_get(env, "HOME");
    struct err why = ERR_INIT;
    *ret = NULL;
    *ret_n = 0;
    if (*path == '\0' && *home == '\0') {
        return ERR_OK;
    }
    if (*path == '\0') {
        path = arena_printf(a, "%s/%s", home, below_home);
    }
    int rc = file_read(a, path, FILE_MAX, ret, ret_n, &why);
    return rc == ERR_OK || rc == ERR_NOT_FOUND
               ? ERR_OK
               : err_set(err, rc, "%.300s: %.600s", path, why.message);
}

/* A misspelt profile must not fall back to the machine's own rights. */
static int check_name(struct arena *a, const struct aws_env *env, const struct aws_profiles *p,
                      struct err *err)
{
    const char *name = aws_env_get(env, "AWS_PROFILE");
    const char *home = aws_env_get(env, "HOME");
    if (*name == '\0' || aws_profile_exists(p, name)) {
        return ERR_OK;
    }
    const char *config =
        str_or(aws_env_get(env, "AWS_CONFIG_FILE"), arena_printf(a, "%s/.aws/config", home));
    const char *credentials = str_or(aws_env_get(env, "AWS_SHARED_CREDENTIALS_FILE"),
                                     arena_printf(a, "%s/.aws/credentials", home));
    return err_set(err, ERR_INVALID,
                   "AWS_PROFILE: there is no profile \"%.100s\": neither [profile %.100s] in "
                   "%.200s nor [%.100s] in %.200s",
                   name, name, config, name, credentials);
}

int aws_profiles_read(struct arena *a, const struct aws_env *env, const struct aws_profiles **ret,
                      struct err *err)
{
    char *config;
    char *credentials;
    size_t n_config;
    size_t n_credentials;
    int rc = read_file(a, env, "AWS_CONFIG_FILE", ".aws/config", &config, &n_config, err);
    if (rc == ERR_OK) {
        rc = read_file(a, env, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", &credentials,
                       &n_credentials, err);
    }
    if (rc == ERR_OK) {
        rc = aws_profiles_parse(a, config, n_config, credentials, n_credentials, ret, err);
    }
    return rc == ERR_OK ? check_name(a, env, *ret, err) : rc;
}

/* ---- questions ------------------------------------------------------------------------------- */

const char *aws_profile_name(const struct aws_env *env)
{
    return str_or(aws_env_get(env, "AWS_PROFILE"),
                  str_or(aws_env_get(env, "AWS_DEFAULT_PROFILE"), "default"));
}

/* "profile x", with one blank between the words. */
static bool section_is(const struct value *v, const char *kind, const char *name)
{
    size_t n = strlen(kind);
    return strncmp(v->section, kind, n) == 0 && v->section[n] == ' ' &&
           str_eq(v->section + n + 1, name);
}

/* The last value of that key in a section of the kind; kind NULL: the section is the name alone. */
static const struct value *find(const struct aws_profiles *p, enum origin origin, const char *kind,
                                const char *name, const char *block, const char *key)
{
    for (size_t i = p->n; i > 0; i--) {
        const struct value *v = &p->values[i - 1];
        bool is_in = kind != NULL ? section_is(v, kind, name) : str_eq(v->section, name);
        if (v->origin == origin && is_in && str_eq(v->block, block) && str_eq(v->key, key)) {
            return v;
        }
    }
    return NULL;
}

/* [default] counts only where there is no [profile default]. */
static const struct value *find_in_config(const struct aws_profiles *p, const char *profile,
                                          const char *key)
{
    bool by_kind =
        !str_eq(profile, "default") || find(p, CONFIG, "profile", profile, "", "") != NULL;
    return find(p, CONFIG, by_kind ? "profile" : NULL, profile, "", key);
}

bool aws_profile_exists(const struct aws_profiles *p, const char *profile)
{
    return find_in_config(p, profile, "") != NULL ||
           find(p, CREDENTIALS, NULL, profile, "", "") != NULL;
}

const char *aws_profile_get(const struct aws_profiles *p, const char *profile, const char *key)
{
    const struct value *v = find(p, CREDENTIALS, NULL, profile, "", key);
    v = v != NULL ? v : find_in_config(p, profile, key);
    return v != NULL ? v->text : NULL;
}

int aws_profile_max_attempts(const struct aws_profiles *p, const struct aws_env *env, int *ret,
                             struct err *err)
{
    const char *profile = aws_profile_name(env);
    const char *texts[] = {aws_env_get(env, "AWS_MAX_ATTEMPTS"),
                           p != NULL ? aws_profile_get(p, profile, "max_attempts") : NULL};
    *ret = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts) && *ret == 0; i++) {
        int64_t n = 0;
        if (!str_is_empty(texts[i]) && (!str_to_i64(texts[i], &n) || n < 0)) {
            return err_set(err, ERR_INVALID, "%s%.100s%s \"%.40s\": want a number, 0 or more",
                           i == 0 ? "AWS_MAX_ATTEMPTS" : "max_attempts of profile \"",
                           i == 0 ? "" : profile, i == 0 ? "" : "\"", texts[i]);
        }
        *ret = n < INT_MAX ? (int)n : INT_MAX;
    }
    return ERR_OK;
}

const char *aws_profile_service_get(const struct aws_profiles *p, const char *profile,
                                    const char *service, const char *key)
{
    const char *services = aws_profile_get(p, profile, "services");
    const struct value *v =
        services != NULL ? find(p, CONFIG, "services", services, service, key) : NULL;
    return v != NULL ? v->text : NULL;
}
