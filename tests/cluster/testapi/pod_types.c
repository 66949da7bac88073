/* The types of a Pod's fields (k8s.io/api/core/v1 of Kubernetes 1.20, and
 * schedulingGates of 1.30 and schedulingGroup of 1.37) as a table, and the decoding by it: what Pods do
 * not have is dropped, what Go's omitempty leaves out goes, a wrong JSON type is refused; see pods.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/pods.h"
#include "tests/cluster/testapi/quantity.h"

/* fields: "name:type name:type …". Types: s string, b bool, i int32, l int64 (all left out when zero; capitals: kept,
 * as pointers are), q quantity, x int or string, t time, m map of strings, Q map of quantities, any other word a
 * struct;
 * '[' before: a list of it. */
struct go_type {
	const char *name;
	const char *fields;
};

static const struct go_type TYPES[] = {
	{"PodSpec",
	 "volumes:[Volume initContainers:[Container containers:[Container ephemeralContainers:[EphemeralContainer "
	 "restartPolicy:s terminationGracePeriodSeconds:L activeDeadlineSeconds:L dnsPolicy:s nodeSelector:m "
	 "serviceAccountName:s serviceAccount:s automountServiceAccountToken:B nodeName:s hostNetwork:b hostPID:b "
	 "hostIPC:b shareProcessNamespace:B securityContext:PodSecurityContext "
	 "imagePullSecrets:[LocalObjectReference hostname:s subdomain:s affinity:Affinity schedulerName:s "
	 "tolerations:[Toleration hostAliases:[HostAlias priorityClassName:s priority:I dnsConfig:PodDNSConfig "
	 "readinessGates:[PodReadinessGate runtimeClassName:S enableServiceLinks:B preemptionPolicy:S overhead:Q "
	 "topologySpreadConstraints:[TopologySpreadConstraint setHostnameAsFQDN:B "
	 "schedulingGroup:PodSchedulingGroup schedulingGates:[PodSchedulingGate"},
	{"PodSchedulingGate", "name:s"},
	{"PodSchedulingGroup", "podGroupName:S"},
	{"Container",
	 "name:s image:s command:[s args:[s workingDir:s ports:[ContainerPort envFrom:[EnvFromSource env:[EnvVar "
	 "resources:ResourceRequirements volumeMounts:[VolumeMount volumeDevices:[VolumeDevice livenessProbe:Probe "
	 "readinessProbe:Probe startupProbe:Probe lifecycle:Lifecycle terminationMessagePath:s "
	 "terminationMessagePolicy:s "
	 "imagePullPolicy:s securityContext:SecurityContext stdin:b stdinOnce:b tty:b"},
	{"EphemeralContainer",
	 "name:s image:s command:[s args:[s workingDir:s env:[EnvVar envFrom:[EnvFromSource volumeMounts:[VolumeMount "
	 "terminationMessagePath:s terminationMessagePolicy:s imagePullPolicy:s securityContext:SecurityContext "
	 "stdin:b "
	 "stdinOnce:b tty:b targetContainerName:s"},
	{"ContainerPort", "name:s hostPort:i containerPort:i protocol:s hostIP:s"},
	{"EnvVar", "name:s value:s valueFrom:EnvVarSource"},
	{"EnvVarSource",
	 "fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector configMapKeyRef:KeySelector "
	 "secretKeyRef:KeySelector"},
	{"ObjectFieldSelector", "apiVersion:s fieldPath:s"},
	{"ResourceFieldSelector", "containerName:s resource:s divisor:q"},
	{"KeySelector", "name:s key:s optional:B"},
	{"EnvFromSource", "prefix:s configMapRef:OptionalReference secretRef:OptionalReference"},
	{"OptionalReference", "name:s optional:B"},
	{"ResourceRequirements", "limits:Q requests:Q"},
	{"VolumeMount", "name:s readOnly:b mountPath:s subPath:s mountPropagation:S subPathExpr:s"},
	{"VolumeDevice", "name:s devicePath:s"},
	{"Probe",
	 "exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction initialDelaySeconds:i timeoutSeconds:i "
	 "periodSeconds:i successThreshold:i failureThreshold:i"},
	{"Lifecycle", "postStart:Handler preStop:Handler"},
	{"Handler", "exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction"},
	{"ExecAction", "command:[s"},
	{"HTTPGetAction", "path:s port:x host:s scheme:s httpHeaders:[HTTPHeader"},
	{"HTTPHeader", "name:S value:S"},
	{"TCPSocketAction", "port:x host:s"},
	{"SecurityContext",
	 "capabilities:Capabilities privileged:B seLinuxOptions:SELinuxOptions windowsOptions:WindowsOptions "
	 "runAsUser:L "
	 "runAsGroup:L runAsNonRoot:B readOnlyRootFilesystem:B allowPrivilegeEscalation:B procMount:S "
	 "seccompProfile:SeccompProfile"},
	{"Capabilities", "add:[s drop:[s"},
	{"SELinuxOptions", "user:s role:s type:s level:s"},
	{"WindowsOptions", "gmsaCredentialSpecName:S gmsaCredentialSpec:S runAsUserName:S"},
	{"SeccompProfile", "type:s localhostProfile:S"},
	{"PodSecurityContext",
	 "seLinuxOptions:SELinuxOptions windowsOptions:WindowsOptions runAsUser:L runAsGroup:L runAsNonRoot:B "
	 "supplementalGroups:[l fsGroup:L sysctls:[Sysctl fsGroupChangePolicy:S seccompProfile:SeccompProfile"},
	{"Sysctl", "name:S value:S"},
	{"LocalObjectReference", "name:s"},
	{"Toleration", "key:s operator:s value:s effect:s tolerationSeconds:L"},
	{"HostAlias", "ip:s hostnames:[s"},
	{"PodDNSConfig", "nameservers:[s searches:[s options:[PodDNSConfigOption"},
	{"PodDNSConfigOption", "name:s value:S"},
	{"PodReadinessGate", "conditionType:s"},
	{"TopologySpreadConstraint", "maxSkew:i topologyKey:s whenUnsatisfiable:s labelSelector:LabelSelector"},
	{"LabelSelector", "matchLabels:m matchExpressions:[LabelSelectorRequirement"},
	{"LabelSelectorRequirement", "key:s operator:s values:[s"},
	{"Affinity", "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAffinity"},
	{"NodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
			 "preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm"},
	{"NodeSelector", "nodeSelectorTerms:[NodeSelectorTerm"},
	{"NodeSelectorTerm", "matchExpressions:[LabelSelectorRequirement matchFields:[LabelSelectorRequirement"},
	{"PreferredSchedulingTerm", "weight:i preference:NodeSelectorTerm"},
	{"PodAffinity", "requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm "
			"preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm"},
	{"PodAffinityTerm", "labelSelector:LabelSelector namespaces:[s topologyKey:S"},
	{"WeightedPodAffinityTerm", "weight:i podAffinityTerm:PodAffinityTerm"},
	{"Volume",
	 "name:s hostPath:HostPathVolumeSource emptyDir:EmptyDirVolumeSource secret:SecretVolumeSource "
	 "configMap:ConfigMapVolumeSource persistentVolumeClaim:ClaimVolumeSource downwardAPI:DownwardAPIVolumeSource "
	 "projected:ProjectedVolumeSource nfs:NFSVolumeSource csi:any glusterfs:any rbd:any flexVolume:any "
	 "cinder:any cephfs:any flocker:any fc:any azureFile:any vsphereVolume:any quobyte:any azureDisk:any "
	 "photonPersistentDisk:any portworxVolume:any scaleIO:any storageos:any gcePersistentDisk:any "
	 "awsElasticBlockStore:any gitRepo:any iscsi:any ephemeral:any"},
	{"HostPathVolumeSource", "path:S type:S"},
	{"EmptyDirVolumeSource", "medium:s sizeLimit:q"},
	{"SecretVolumeSource", "secretName:s items:[KeyToPath defaultMode:I optional:B"},
	{"ConfigMapVolumeSource", "name:s items:[KeyToPath defaultMode:I optional:B"},
	{"KeyToPath", "key:S path:S mode:I"},
	{"ClaimVolumeSource", "claimName:s readOnly:b"},
	{"NFSVolumeSource", "server:s path:s readOnly:b"},
	{"DownwardAPIVolumeSource", "items:[DownwardAPIVolumeFile defaultMode:I"},
	{"DownwardAPIVolumeFile", "path:s fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector mode:I"},
	{"ProjectedVolumeSource", "sources:[VolumeProjection defaultMode:I"},
	{"VolumeProjection", "secret:ConfigMapVolumeSource downwardAPI:DownwardAPIVolumeSource "
			     "configMap:ConfigMapVolumeSource serviceAccountToken:ServiceAccountTokenProjection"},
	{"ServiceAccountTokenProjection", "audience:s expirationSeconds:L path:s"},
};

/* JSON names whose Go name is not just capitalised. */
static const char *const GO_NAMES[][2] = {
	{"apiVersion", "APIVersion"},
	{"dnsPolicy", "DNSPolicy"},
	{"dnsConfig", "DNSConfig"},
	{"httpGet", "HTTPGet"},
	{"httpHeaders", "HTTPHeaders"},
	{"tcpSocket", "TCPSocket"},
	{"tty", "TTY"},
	{"ip", "IP"},
	{"nfs", "NFS"},
	{"seLinuxOptions", "SELinuxOptions"},
	{"fsGroup", "FSGroup"},
	{"fsGroupChangePolicy", "FSGroupChangePolicy"},
};

enum { KIND_SIZE = 64 };

/* One member of a type, out of its fields' text. */
struct member {
	char name[KIND_SIZE];
	char kind[KIND_SIZE];
};

enum { MEMBERS_MAX = 40 };

struct members {
	struct member list[MEMBERS_MAX];
	size_t count;
};

/* Where the decoder is, for its messages: "v1.Pod.Spec: v1.PodSpec.Containers: []v1.Container: …". */
struct place {
	const struct place *up;
	const char *type;
	const char *member; /* JSON name; NULL: the items of a list of that type */
};

static json_t *decode(const char *kind, json_t *value, const struct place *place, struct api_failure *failure);

/* What json-iterator says it found. */
static char first_byte(const json_t *value)
{
	cleanup_free char *text = json_text(value);

	return text[0];
}

/* The Go name of a JSON name: capitalised, with exceptions. */
static void put_go_name(struct buf *out, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(GO_NAMES); i++)
		if (strcmp(name, GO_NAMES[i][0]) == 0) {
			buf_puts(out, GO_NAMES[i][1]);
			return;
		}
	buf_putc(out, (char)(name[0] >= 'a' && name[0] <= 'z' ? name[0] - 'a' + 'A' : name[0]));
	buf_puts(out, name + 1);
}

static void put_place(struct buf *out, const struct place *place)
{
	if (place == NULL)
		return;
	put_place(out, place->up);
	if (place->member != NULL) {
		buf_printf(out, "v1.%s.", place->type);
		put_go_name(out, place->member);
	} else {
		buf_printf(out, "[]%s%s", strlen(place->type) > 1 ? "v1." : "",
			   strlen(place->type) > 1 ? place->type
			   : place->type[0] == 'l' ? "int64"
						   : "string");
	}
	buf_puts(out, ": ");
}

/* json-iterator's message, with the value where it shows a piece of the text. */
static json_t *refuse(const struct place *place, const json_t *value, const char *what, struct api_failure *failure)
{
	cleanup_buf struct buf where = {0};
	cleanup_free char *text = json_text(value);

	put_place(&where, place);
	api_fail_bad_request(
		failure,
		"Pod in version \"v1\" cannot be handled as a Pod: %s%s, error found in #10 byte of ...|%.64s|..., "
		"bigger context ...|%.256s|...",
		where.data, what, text, text);
	return NULL;
}

static json_t *refuse_byte(const struct place *place, const json_t *value, const char *expected,
			   struct api_failure *failure)
{
	cleanup_free char *what = mem_printf("%s, but found %c", expected, first_byte(value));

	return refuse(place, value, what, failure);
}

static json_t *decode_int(char kind, json_t *value, const struct place *place, struct api_failure *failure)
{
	bool wide = kind == 'l' || kind == 'L';
	json_int_t number;

	if (json_is_real(value))
		return refuse(place, value, "readUint32: unexpected character: .", failure);
	/* json-iterator prints the class of the byte it met, 0xFF, which no JSON text can hold */
	if (!json_is_integer(value))
		return refuse(place, value,
			      wide ? "readUint64: unexpected character: \xEF\xBF\xBD"
				   : "readUint32: unexpected character: \xEF\xBF\xBD",
			      failure);
	number = json_integer_value(value);
	if (!wide && (number > INT32_MAX || number < INT32_MIN))
		return refuse(place, value, "ReadInt32: overflow", failure);
	return json_incref(value);
}

static json_t *decode_quantity(const json_t *value, const struct place *place, struct api_failure *failure)
{
	cleanup_free char *text = json_is_string(value) ? mem_strdup(json_string_value(value)) : json_text(value);
	cleanup_free char *canonical = json_is_string(value) || json_is_number(value) ? quantity_canonical(text) : NULL;

	if (canonical != NULL)
		return json_string(canonical);
	return refuse(place, value,
		      "unmarshalerDecoder: quantities must match the regular expression "
		      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
		      failure);
}

static json_t *decode_map(const char *kind, json_t *map, const struct place *place, struct api_failure *failure)
{
	json_t *out;
	const char *name;
	json_t *value;

	if (!json_is_object(map))
		return refuse_byte(place, map, "ReadMapCB: expect { or n", failure);
	out = json_object();
	json_object_foreach(map, name, value) {
		json_t *decoded;

		if (json_is_null(value))
			decoded = json_string(kind[0] == 'Q' ? "0" : "");
		else
			decoded = decode(kind[0] == 'Q' ? "q" : "S", value, place, failure);
		if (decoded == NULL) {
			json_decref(out);
			return NULL;
		}
		json_object_set_new(out, name, decoded);
	}
	return out;
}

static json_t *decode_list(const char *kind, json_t *list, const struct place *place, struct api_failure *failure)
{
	bool is_struct = kind[1] != '\0';
	const struct place here = {place, kind, NULL};
	json_t *out;
	size_t index;
	json_t *value;

	if (!json_is_array(list))
		return refuse_byte(&here, list, "decode slice: expect [ or n", failure);
	out = json_array();
	json_array_foreach(list, index, value) {
		json_t *decoded;

		if (json_is_null(value))
			decoded = is_struct ? json_object() : kind[0] == 'l' ? json_integer(0) : json_string("");
		else
			decoded = decode(is_struct ? kind : kind[0] == 'l' ? "L" : "S", value, &here, failure);
		if (decoded == NULL) {
			json_decref(out);
			return NULL;
		}
		json_array_append_new(out, decoded);
	}
	return out;
}

/* What omitempty leaves out: zero values that are no pointers, empty lists and maps. */
static bool is_omitted(const char *kind, const json_t *value)
{
	switch (kind[0]) {
	case 's': return kind[1] == '\0' && json_string_length(value) == 0;
	case 'b': return kind[1] == '\0' && json_is_false(value);
	case 'i':
	case 'l': return kind[1] == '\0' && json_integer_value(value) == 0;
	case '[': return json_array_size(value) == 0;
	case 'm':
	case 'Q': return kind[1] == '\0' && json_object_size(value) == 0;
	default: return false;
	}
}

static const struct members *members_of(const struct go_type *type)
{
	static struct members parsed[ARRAY_LEN(TYPES)];
	struct members *members = &parsed[type - TYPES];

	if (members->count > 0)
		return members;
	for (const char *at = type->fields; *at != '\0';) {
		struct member *member = &members->list[members->count];
		int used = 0;

		if (members->count == MEMBERS_MAX ||
		    sscanf(at, "%63[^:]:%63s%n", member->name, member->kind, &used) != 2)
			abort(); /* the table is ours */
		members->count++;
		at += used;
		at += strspn(at, " ");
	}
	return members;
}

static const struct member *find_member(const struct members *members, const char *name)
{
	for (size_t i = 0; i < members->count; i++)
		if (strcmp(members->list[i].name, name) == 0)
			return &members->list[i];
	return NULL;
}

static json_t *decode_struct(const struct go_type *type, json_t *object, const struct place *place,
			     struct api_failure *failure)
{
	const struct members *members = members_of(type);
	json_t *out;
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return refuse_byte(place, object, "readObjectStart: expect { or n", failure);
	out = json_object();
	json_object_foreach(object, name, value) {
		const struct member *member = json_is_null(value) ? NULL : find_member(members, name);
		const struct place here = {place, type->name, name};
		json_t *decoded;

		if (member == NULL)
			continue;
		decoded = decode(member->kind, value, &here, failure);
		if (decoded == NULL) {
			json_decref(out);
			return NULL;
		}
		if (is_omitted(member->kind, decoded))
			json_decref(decoded);
		else
			json_object_set_new(out, name, decoded);
	}
	return out;
}

static const struct go_type *find_type(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
		if (strcmp(TYPES[i].name, name) == 0)
			return &TYPES[i];
	abort(); /* the table is ours */
}

static json_t *decode(const char *kind, json_t *value, const struct place *place, struct api_failure *failure)
{
	if (kind[0] == '[')
		return decode_list(kind + 1, value, place, failure);
	if (strcmp(kind, "any") == 0)
		return json_incref(value);
	if (kind[1] != '\0')
		return decode_struct(find_type(kind), value, place, failure);
	switch (kind[0]) {
	case 's':
	case 'S':
	case 't':
		if (!json_is_string(value))
			return refuse_byte(place, value, "ReadString: expects \" or n", failure);
		return json_incref(value);
	case 'b':
	case 'B':
		if (!json_is_boolean(value))
			return refuse_byte(place, value, "ReadBool: expect t or f", failure);
		return json_incref(value);
	case 'q': return decode_quantity(value, place, failure);
	case 'x':
		if (!json_is_string(value) && !json_is_integer(value))
			return refuse(place, value,
				      "unmarshalerDecoder: json: cannot unmarshal into Go value of type int32",
				      failure);
		return json_incref(value);
	case 'm':
	case 'Q': return decode_map(kind, value, place, failure);
	default: return decode_int(kind[0], value, place, failure);
	}
}

int api_pod_types(json_t *pod, struct api_failure *failure)
{
	static const char *const known[] = {"apiVersion", "kind", "metadata", "spec", "status"};
	const struct place here = {NULL, "Pod", "spec"};
	json_t *spec = json_object_get(pod, "spec");
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(pod, next, name, value) {
		bool keep = false;

		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			keep = keep || strcmp(name, known[i]) == 0;
		if (!keep)
			json_object_del(pod, name);
	}
	if (spec == NULL)
		return 0;
	spec = decode("PodSpec", spec, &here, failure);
	return spec == NULL ? -1 : json_object_set_new(pod, "spec", spec);
}
