/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: where clients of Azure find endpoints and tokens, as a module of its own; and the
 * check of bearers.
 *
 * Serves the resource manager's /metadata/endpoints, the instance metadata service's tokens (also
 * in the form of App Service), the token endpoint of a directory with client secret or client
 * assertion, and the discovery documents that SDKs ask for.  Calls are counted under "metadata" and
 * go to no log.  Source: docs/spec/azure.md §1.5, §2. */
#include "sim/arm/arm.h"

#include <string.h>

#define TOKEN_LIFE_S           86399
#define DIRECTORY_TOKEN_LIFE_S 3599

const char *arm_token_new(struct arm *arm, struct arena *a, int64_t lifetime_s)
{
    unsigned char bytes[30];
    rng_bytes(sim_rng(arm->sim), bytes, sizeof(bytes));
    char *token = arena_printf(a, "eyJzaW0iOiJhcm0ifQ.%s.sim",
                               str_base64_encode(a, bytes, sizeof(bytes), true));
    int64_t *expiry = xcalloc(1, sizeof(*expiry));
    *expiry = clock_wall_s(sim_clock(arm->sim)) + lifetime_s;
    map_set(arm->tokens, token, expiry);
    return token;
}

bool arm_token_check(struct arm_request *q)
{
    const char *header = http_req_header(q->call->req, "Authorization");
    bool bearer = header && str_eq_nocase(arena_strndup(q->a, header, 7), "Bearer ");
    const int64_t *expiry = bearer ? map_get(q->arm->tokens, str_trim(q->a, header + 7)) : NULL;
    if (expiry && *expiry > clock_wall_s(sim_clock(q->arm->sim))) {
        return true;
    }
    const char *why = expiry   ? "The access token has expired."
                      : bearer ? "The access token is invalid."
                               : "Authentication failed. The 'Authorization' header is missing.";
    const char *claims = json_str(q->arm->settings, "claims");
    http_req_add_header(q->call->req, "WWW-Authenticate",
                        arena_printf(q->a,
                                     "Bearer authorization_uri=\"%s/%s\", error=\"invalid_token\", "
                                     "error_description=\"%s\"%s%s%s",
                                     sim_url(q->arm->sim), q->arm->tenant, why,
                                     claims ? ", claims=\"" : "", str_nonnull(claims),
                                     claims ? "\"" : ""));
    return arm_refuse(q, 401,
                      expiry   ? "ExpiredAuthenticationToken"
                      : bearer ? "InvalidAuthenticationToken"
                               : "AuthenticationFailed",
                      "%s", why);
}

/* --- the module ------------------------------------------------------------------------------- */

static int identity_init(struct sim *sim, void **ret_state, struct err *err)
{
    (void)err;
    *ret_state = sim_module_state(sim, "azure"); /* borrowed */
    return ERR_OK;
}

static void identity_done(void *state)
{
    (void)state;
}

static const struct {
    const char *glob;
    const char *op;
} paths[] = {
    {"/metadata/endpoints", "endpoints"},
    {"/metadata/identity/oauth2/token", "identityToken"},
    {"/msi/token", "identityToken"},
    {"/*/oauth2/v2.0/token", "directoryToken"},
    {"/*/oauth2/token", "directoryToken"},
    {"/*/.well-known/openid-configuration", "openidConfiguration"},
    {"/common/discovery/instance", "instanceDiscovery"},
};

static const char *op_of(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (str_glob(paths[i].glob, path)) {
            return paths[i].op;
        }
    }
    return NULL;
}

static bool identity_claims(const void *state, const char *method, const char *path)
{
    (void)method;
    (void)state;
    return op_of(path) != NULL;
}

static void identity_name_call(void *state, struct sim_call *call)
{
    (void)state;
    call->op = op_of(call->path);
}

static void answer_error(struct sim_call *call, int status, const char *error, int64_t number,
                         const char *text)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "error", error);
    json_add_str(o, "error_description", text);
    if (number > 0) {
        struct json_object *codes = json_object_new_array();
        json_object_array_add(codes, json_object_new_int64(number));
        json_add(o, "error_codes", codes);
    }
    sim_answer(call, status, o);
}

/* --- managed identities ----------------------------------------------------------------------- */

/* "2018-02-01" or later. */
static bool version_is_known(const char *version)
{
    bool ok = version && strlen(version) == 10 && strcmp(version, "2018-02-01") >= 0;
    for (size_t i = 0; ok && i < 10; i++) {
        ok = i == 4 || i == 7 ? version[i] == '-' : version[i] >= '0' && version[i] <= '9';
    }
    return ok;
}

/* Which identity is asked for, against those that the settings give the machine ("identities");
 * NULL: that one may. */
static const char *wrong_identity(const struct arm *arm, const struct sim_call *call)
{
    static const char *const names[] = {"client_id", "msi_res_id", "mi_res_id", "object_id",
                                        "principal_id"};
    struct json_object *have = json_member(arm->settings, "identities");
    const char *wanted = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !wanted; i++) {
        wanted = sim_call_param(call, names[i]);
    }
    if (!have) {
        return NULL;
    }
    if (!wanted && json_len(have) > 1) {
        return "Multiple user assigned identities exist, please specify the clientId / resourceId "
               "of the identity in the token request";
    }
    bool found = !wanted && json_len(have) == 1;
    for (size_t i = 0; i < json_len(have); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(have, i));
        found = found || str_eq_nocase(id, wanted);
    }
    return found ? NULL : "Identity not found";
}

static void identity_token(struct arm *arm, struct sim_call *call)
{
    const char *secret = http_req_header(call->req, "X-IDENTITY-HEADER");
    const char *resource = sim_call_param(call, "resource");
    bool app_service = secret && str_eq(secret, SIM_ARM_IDENTITY_HEADER);
    if (secret && !app_service) {
        answer_error(call, 401, "unauthorized", 0, "The identity header is wrong.");
        return;
    }
    if (!app_service && !str_eq_nocase(http_req_header(call->req, "Metadata"), "true")) {
        answer_error(call, 400, "invalid_request", 0, "Required metadata header not specified");
        return;
    }
    if (!str_eq(call->method, "GET")) {
        answer_error(call, 405, "invalid_request", 0, "The method is not allowed.");
        return;
    }
    if (!app_service && http_req_header(call->req, "X-Forwarded-For")) {
        answer_error(call, 400, "invalid_request", 0,
                     "Requests that were forwarded (X-Forwarded-For) are not answered.");
        return;
    }
    if (str_is_empty(sim_call_param(call, "api-version")) || str_is_empty(resource)) {
        answer_error(call, 400, "invalid_request", 0,
                     "Required query variable 'api-version' or 'resource' is missing");
        return;
    }
    if (!version_is_known(sim_call_param(call, "api-version"))) {
        answer_error(call, 400, "invalid_request", 0, "The api-version is not supported.");
        return;
    }
    const char *wrong = wrong_identity(arm, call);
    if (wrong) {
        answer_error(call, 400, "invalid_request", 0, wrong);
        return;
    }
    int64_t now = clock_wall_s(sim_clock(arm->sim));
    struct json_object *o = json_object_new_object();
    json_add_str(o, "access_token", arm_token_new(arm, call->arena, TOKEN_LIFE_S));
    json_add_str(o, "expires_in", arena_printf(call->arena, "%d", TOKEN_LIFE_S));
    json_add_str(o, "expires_on",
                 arena_printf(call->arena, "%lld", (long long)(now + TOKEN_LIFE_S)));
    json_add_str(o, "resource", resource);
    json_add_str(o, "token_type", "Bearer");
    sim_answer(call, 200, o);
}

/* --- the directory ---------------------------------------------------------------------------- */

static const struct arm_denial *judge(struct arm *arm, struct sim_call *call,
                                      const struct url_param *form, size_t n)
{
    static const struct arm_denial no_type = {
        27001, "AADSTS27001: The 'client_assertion_type' is not the one of a JWT."};
    static const struct arm_denial no_secret = {7000215,
                                                "AADSTS7000215: Invalid client secret provided."};
    static const struct arm_denial nothing = {
        7000218, "AADSTS7000218: The request body must contain the following parameter: "
                 "'client_assertion' or 'client_secret'."};
    const char *secret = url_query_get(form, n, "client_secret");
    const char *assertion = url_query_get(form, n, "client_assertion");
    const char *type = url_query_get(form, n, "client_assertion_type");
    if (!assertion) {
        return str_is_empty(secret)                    ? &nothing
               : str_eq(secret, SIM_ARM_CLIENT_SECRET) ? NULL
                                                       : &no_secret;
    }
    if (!str_eq(type, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")) {
        return &no_type;
    }
    return arm_assertion_judge(arm, call, assertion, url_query_get(form, n, "client_id"));
}

/* The directories of this world, and that of an Azure Stack. */
static bool tenant_is_known(const struct arm *arm, struct sim_call *call)
{
    const char *tenant = arena_strndup(call->arena, call->path + 1, strcspn(call->path + 1, "/"));
    return str_eq_nocase(tenant, arm->tenant) || str_eq_nocase(tenant, arm->network_tenant) ||
           str_eq_nocase(tenant, "adfs");
}

/* The first version of the token endpoint, which is asked for a resource, says numbers as texts and
 * when the token ends; without that a client asks for a new one before each call.  ADFS, in the
 * same place, does not say it. */
static void answer_token(struct arm *arm, struct sim_call *call, const char *resource)
{
    struct json_object *o = json_object_new_object();
    int64_t now = clock_wall_s(sim_clock(arm->sim));
    json_add_str(o, "token_type", "Bearer");
    json_add_str(o, "access_token", arm_token_new(arm, call->arena, DIRECTORY_TOKEN_LIFE_S));
    if (str_is_empty(resource)) {
        json_add_int(o, "expires_in", DIRECTORY_TOKEN_LIFE_S);
        json_add_int(o, "ext_expires_in", DIRECTORY_TOKEN_LIFE_S);
    } else if (str_has_prefix(call->path, "/adfs/")) {
        json_add_int(o, "expires_in", DIRECTORY_TOKEN_LIFE_S);
    } else {
        json_add_str(o, "resource", resource);
        json_add_str(o, "expires_in", arena_printf(call->arena, "%d", DIRECTORY_TOKEN_LIFE_S));
        json_add_str(o, "not_before", arena_printf(call->arena, "%lld", (long long)now));
        json_add_str(o, "expires_on",
                     arena_printf(call->arena, "%lld", (long long)(now + DIRECTORY_TOKEN_LIFE_S)));
    }
    sim_answer(call, 200, o);
}

static void directory_token(struct arm *arm, struct sim_call *call)
{
    struct url_param *form = NULL;
    size_t n = 0;
    const char *media = str_nonnull(http_req_header(call->req, "Content-Type"));
    bool is_form =
        str_has_prefix(str_lower(call->arena, media), "application/x-www-form-urlencoded") &&
        url_query_parse(call->arena, call->body, &form, &n, NULL) == ERR_OK;
    const struct arm_denial *denial = NULL;
    const char *scope = is_form ? url_query_get(form, n, "scope") : NULL;
    const char *resource = is_form ? url_query_get(form, n, "resource") : NULL;
    if (!str_eq(call->method, "POST")) {
        answer_error(call, 400, "invalid_request", 900561,
                     "AADSTS900561: The endpoint only accepts POST requests.");
    } else if (!tenant_is_known(arm, call)) {
        answer_error(call, 400, "invalid_request", 90002,
                     arena_printf(call->arena, "AADSTS90002: Tenant '%.*s' not found.",
                                  (int)strcspn(call->path + 1, "/"), call->path + 1));
    } else if (!is_form || !str_eq(url_query_get(form, n, "grant_type"), "client_credentials") ||
               str_is_empty(url_query_get(form, n, "client_id"))) {
        answer_error(call, 400, "invalid_request", 900144,
                     "AADSTS900144: The request body must contain 'client_id' and 'grant_type'.");
    } else if (!(scope && str_has_suffix(scope, "/.default")) && str_is_empty(resource)) {
        answer_error(call, 400, "invalid_scope", 70011,
                     "AADSTS70011: The provided value for the input parameter 'scope' is not "
                     "valid.");
    } else if ((denial = judge(arm, call, form, n)) != NULL) {
        answer_error(call, 401, "invalid_client", denial->number, denial->text);
    } else {
        answer_token(arm, call, resource);
    }
}

static void openid_configuration(struct arm *arm, struct sim_call *call)
{
    const char *tenant = arena_strndup(call->arena, call->path + 1, strcspn(call->path + 1, "/"));
    const char *base = arena_printf(call->arena, "%s/%s", sim_url(arm->sim), tenant);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "token_endpoint", arena_printf(call->arena, "%s/oauth2/v2.0/token", base));
    json_add_str(o, "authorization_endpoint",
                 arena_printf(call->arena, "%s/oauth2/v2.0/authorize", base));
    json_add_str(o, "device_authorization_endpoint",
                 arena_printf(call->arena, "%s/oauth2/v2.0/devicecode", base));
    json_add_str(o, "issuer", arena_printf(call->arena, "%s/v2.0", base));
    sim_answer(call, 200, o);
}

static void instance_discovery(struct arm *arm, struct sim_call *call)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "tenant_discovery_endpoint",
                 arena_printf(call->arena, "%s/%s/v2.0/.well-known/openid-configuration",
                              sim_url(arm->sim), arm->tenant));
    json_add_str(o, "api-version", "1.1");
    json_add(o, "metadata", json_object_new_array());
    sim_answer(call, 200, o);
}

/* As clients from before 2019 ask, Azure Stack's among them: one cloud instead of a
 * list of clouds. */
static struct json_object *endpoints_of_one(struct arm *arm, struct json_object *login)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "galleryEndpoint", sim_url(arm->sim));
    json_add_str(o, "graphEndpoint", sim_url(arm->sim));
    json_add_str(o, "portalEndpoint", sim_url(arm->sim));
    json_add(o, "authentication", login);
    return o;
}

static void endpoints(struct arm *arm, struct sim_call *call)
{
    const char *url = sim_url(arm->sim);
    const char *audiences[] = {arena_printf(call->arena, "%s/", url)};
    struct json_object *login = json_object_new_object();
    json_add_str(login, "loginEndpoint", audiences[0]);
    json_add(login, "audiences", json_strs(audiences, 1));
    if (str_eq(sim_call_param(call, "api-version"), "1.0")) {
        sim_answer(call, 200, endpoints_of_one(arm, login));
        return;
    }
    struct json_object *list = json_object_new_array(), *o = json_object_new_object();
    struct json_object *suffixes = json_object_new_object();
    json_add_str(login, "tenant", "common");
    json_add_str(login, "identityProvider", "AAD");
    json_add_str(suffixes, "storage", "core.windows.net");
    json_add_str(suffixes, "acrLoginServer", "azurecr.io");
    json_add_str(o, "name", "AzureCloud");
    json_add_str(o, "resourceManager", url);
    json_add(o, "authentication", login);
    json_add(o, "suffixes", suffixes);
    if (strcmp(str_nonnull(sim_call_param(call, "api-version")), "2022-09-01") >= 0) {
        json_object_put(list);
        sim_answer(call, 200, o); /* a cloud of today speaks only of itself */
        return;
    }
    json_object_array_add(list, o);
    sim_answer(call, 200, list);
}

static void identity_handle(void *state, struct sim_call *call)
{
    struct arm *arm = state;
    if (str_eq(call->op, "endpoints")) {
        endpoints(arm, call);
    } else if (str_eq(call->op, "identityToken")) {
        identity_token(arm, call);
    } else if (str_eq(call->op, "directoryToken")) {
        directory_token(arm, call);
    } else if (str_eq(call->op, "openidConfiguration")) {
        openid_configuration(arm, call);
    } else {
        instance_discovery(arm, call);
    }
}

const struct sim_module sim_arm_identity_module = {
    .name = "metadata",
    .init = identity_init,
    .done = identity_done,
    .claims = identity_claims,
    .name_call = identity_name_call,
    .handle = identity_handle,
};
