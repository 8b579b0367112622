/* SPDX-License-Identifier: Apache-2.0 */
/* types_other.c: Events (both APIs), EndpointSlice, Lease and the review kinds.
 *
 * Constant tables only; see types.h. */
#include "sim/kube/types.h"

#include "sim/kube/types_tables.h"

/* --- Events ----------------------------------------------------------------------------------- */
static const struct kube_field event_source_fields[] = {F("component", KF_STR), F("host", KF_STR)};
static const struct kube_type event_source =
    TYPE("EventSource", CORE "EventSource", event_source_fields);
static const struct kube_field core_series_fields[] = {
    F("count", KF_I32),
    F_K("lastObservedTime", KF_MICROTIME),
};
static const struct kube_type core_series =
    TYPE("EventSeries", CORE "EventSeries", core_series_fields);
static const struct kube_field event_fields[] = {
    OBJECT_HEAD,
    OBJ_R("involvedObject", kube_type_object_reference),
    F("reason", KF_STR),
    F("message", KF_STR),
    OBJ_K("source", event_source),
    F_K("firstTimestamp", KF_TIME),
    F_K("lastTimestamp", KF_TIME),
    F("count", KF_I32),
    F("type", KF_STR),
    F_K("eventTime", KF_MICROTIME),
    OBJ_P("series", core_series),
    F("action", KF_STR),
    OBJ_P("related", kube_type_object_reference),
    F_K("reportingComponent", KF_STR),
    F_K("reportingInstance", KF_STR),
};
const struct kube_type kube_type_event = TYPE("Event", CORE "Event", event_fields);

static const struct kube_field series_fields[] = {
    F_R("count", KF_I32),
    F_R("lastObservedTime", KF_MICROTIME),
};
static const struct kube_type events_series =
    TYPE("EventSeries", "io.k8s.api.events.v1.EventSeries", series_fields);
static const struct kube_field events_event_fields[] = {
    OBJECT_HEAD,
    F_R("eventTime", KF_MICROTIME),
    OBJ_P("series", events_series),
    F("reportingController", KF_STR),
    F("reportingInstance", KF_STR),
    F("action", KF_STR),
    F("reason", KF_STR),
    OBJ_K("regarding", kube_type_object_reference),
    OBJ_P("related", kube_type_object_reference),
    F("note", KF_STR),
    F("type", KF_STR),
    OBJ_K("deprecatedSource", event_source),
    F_K("deprecatedFirstTimestamp", KF_TIME),
    F_K("deprecatedLastTimestamp", KF_TIME),
    F("deprecatedCount", KF_I32),
};
const struct kube_type kube_type_events_event =
    TYPE("Event", "io.k8s.api.events.v1.Event", events_event_fields);

/* --- EndpointSlice ---------------------------------------------------------------------------- */
#define DISCOVERY "io.k8s.api.discovery.v1."
static const struct kube_field ep_conditions_fields[] = {
    F_P("ready", KF_BOOL),
    F_P("serving", KF_BOOL),
    F_P("terminating", KF_BOOL),
};
static const struct kube_type ep_conditions =
    TYPE("EndpointConditions", DISCOVERY "EndpointConditions", ep_conditions_fields);
static const struct kube_field for_zone_fields[] = {F_R("name", KF_STR)};
static const struct kube_type for_zone = TYPE("ForZone", DISCOVERY "ForZone", for_zone_fields);
static const struct kube_type for_node = TYPE("ForNode", DISCOVERY "ForNode", for_zone_fields);
static const struct kube_field hints_fields[] = {
    OBJS("forZones", for_zone),
    OBJS("forNodes", for_node),
};
static const struct kube_type hints =
    TYPE("EndpointHints", DISCOVERY "EndpointHints", hints_fields);
static const struct kube_field endpoint_fields[] = {
    F_R("addresses", KF_STRS),
    OBJ_K("conditions", ep_conditions),
    F_P("hostname", KF_STR),
    OBJ_P("targetRef", kube_type_object_reference),
    F("deprecatedTopology", KF_STR_MAP),
    F_P("nodeName", KF_STR),
    F_P("zone", KF_STR),
    OBJ_P("hints", hints),
};
static const struct kube_type endpoint = TYPE("Endpoint", DISCOVERY "Endpoint", endpoint_fields);
static const struct kube_field slice_port_fields[] = {
    F_P("name", KF_STR),
    F_P("protocol", KF_STR),
    F_P("port", KF_I32),
    F_P("appProtocol", KF_STR),
};
static const struct kube_type slice_port =
    TYPE("EndpointPort", DISCOVERY "EndpointPort", slice_port_fields);
static const struct kube_field slice_fields[] = {
    OBJECT_HEAD,
    F_R("addressType", KF_STR),
    OBJS_K("endpoints", endpoint),
    OBJS_K("ports", slice_port),
};
const struct kube_type kube_type_endpoint_slice =
    TYPE("EndpointSlice", DISCOVERY "EndpointSlice", slice_fields);

/* --- Lease ------------------------------------------------------------------------------------ */
static const struct kube_field lease_spec_fields[] = {
    F_P("holderIdentity", KF_STR),    F_P("leaseDurationSeconds", KF_I32),
    F_P("acquireTime", KF_MICROTIME), F_P("renewTime", KF_MICROTIME),
    F_P("leaseTransitions", KF_I32),  F_P("strategy", KF_STR),
    F_P("preferredHolder", KF_STR),
};
static const struct kube_type lease_spec =
    TYPE("LeaseSpec", "io.k8s.api.coordination.v1.LeaseSpec", lease_spec_fields);
static const struct kube_field lease_fields[] = {OBJECT_HEAD, OBJ_K("spec", lease_spec)};
const struct kube_type kube_type_lease =
    TYPE("Lease", "io.k8s.api.coordination.v1.Lease", lease_fields);

/* --- reviews ---------------------------------------------------------------------------------- */
#define AUTHN "io.k8s.api.authentication.v1."
#define AUTHZ "io.k8s.api.authorization.v1."
static const struct kube_field token_review_spec_fields[] = {F("token", KF_STR),
                                                             F("audiences", KF_STRS)};
static const struct kube_type token_review_spec =
    TYPE("TokenReviewSpec", AUTHN "TokenReviewSpec", token_review_spec_fields);
static const struct kube_field user_fields[] = {
    F("username", KF_STR),
    F("uid", KF_STR),
    F("groups", KF_STRS),
    F("extra", KF_STRS_MAP),
};
static const struct kube_type user_info = TYPE("UserInfo", AUTHN "UserInfo", user_fields);
static const struct kube_field token_review_status_fields[] = {
    F("authenticated", KF_BOOL),
    OBJ_K("user", user_info),
    F("audiences", KF_STRS),
    F("error", KF_STR),
};
static const struct kube_type token_review_status =
    TYPE("TokenReviewStatus", AUTHN "TokenReviewStatus", token_review_status_fields);
static const struct kube_field token_review_fields[] = {
    WITH_STATUS(token_review_spec, token_review_status)};
const struct kube_type kube_type_token_review =
    TYPE("TokenReview", AUTHN "TokenReview", token_review_fields);

static const struct kube_field token_request_fields[] = {OBJECT_HEAD, F("spec", KF_ANY),
                                                         F("status", KF_ANY)};
const struct kube_type kube_type_token_request =
    TYPE("TokenRequest", AUTHN "TokenRequest", token_request_fields);

static const struct kube_field resource_attributes_fields[] = {
    F("namespace", KF_STR), F("verb", KF_STR),          F("group", KF_STR),
    F("version", KF_STR),   F("resource", KF_STR),      F("subresource", KF_STR),
    F("name", KF_STR),      F("fieldSelector", KF_ANY), F("labelSelector", KF_ANY),
};
static const struct kube_type resource_attributes =
    TYPE("ResourceAttributes", AUTHZ "ResourceAttributes", resource_attributes_fields);
static const struct kube_field non_resource_fields[] = {F("path", KF_STR), F("verb", KF_STR)};
static const struct kube_type non_resource_attributes =
    TYPE("NonResourceAttributes", AUTHZ "NonResourceAttributes", non_resource_fields);
static const struct kube_field sar_spec_fields[] = {
    OBJ_P("resourceAttributes", resource_attributes),
    OBJ_P("nonResourceAttributes", non_resource_attributes),
    F("user", KF_STR),
    F("groups", KF_STRS),
    F("extra", KF_STRS_MAP),
    F("uid", KF_STR),
};
static const struct kube_type sar_spec =
    TYPE("SubjectAccessReviewSpec", AUTHZ "SubjectAccessReviewSpec", sar_spec_fields);
static const struct kube_field sar_status_fields[] = {
    F_K("allowed", KF_BOOL),
    F("denied", KF_BOOL),
    F("reason", KF_STR),
    F("evaluationError", KF_STR),
};
static const struct kube_type sar_status =
    TYPE("SubjectAccessReviewStatus", AUTHZ "SubjectAccessReviewStatus", sar_status_fields);
static const struct kube_field self_spec_fields[] = {
    OBJ_P("resourceAttributes", resource_attributes),
    OBJ_P("nonResourceAttributes", non_resource_attributes),
};
static const struct kube_type self_spec =
    TYPE("SelfSubjectAccessReviewSpec", AUTHZ "SelfSubjectAccessReviewSpec", self_spec_fields);
static const struct kube_field self_fields[] = {WITH_STATUS(self_spec, sar_status)};
const struct kube_type kube_type_self_subject_access_review =
    TYPE("SelfSubjectAccessReview", AUTHZ "SelfSubjectAccessReview", self_fields);
static const struct kube_field sar_fields[] = {WITH_STATUS(sar_spec, sar_status)};
const struct kube_type kube_type_subject_access_review =
    TYPE("SubjectAccessReview", AUTHZ "SubjectAccessReview", sar_fields);
