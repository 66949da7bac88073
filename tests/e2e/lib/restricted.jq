# What keeps a Pod out of a namespace that enforces the profile "restricted" of the Pod Security Standards (that of
# Kubernetes 1.36, on Linux): an array of texts, empty for a Pod that is admitted. Input: the Pod's metadata and spec.

def of_kinds($known): . == null or (. as $kind | $known | index($kind) != null);
def containers: .spec | (.containers, .initContainers, .ephemeralContainers) // [] | .[];
def security_contexts: .spec.securityContext, (containers | .securityContext) | values;
def handlers: .livenessProbe, .readinessProbe, .startupProbe, (.lifecycle // {} | .postStart, .preStop) | values;

def baseline:
    (.spec | to_entries[] | select((.key | of_kinds(["hostNetwork", "hostPID", "hostIPC"])) and .value == true).key),
    (containers | select(.securityContext.privileged == true) | "privileged: \(.name)"),
    (containers | select(any(.ports[]?; (.hostPort // 0) != 0)) | "hostPort: \(.name)"),
    (containers | select(any(handlers | .httpGet, .tcpSocket; (.host // "") != "")) | "host of a probe: \(.name)"),
    (containers | select(.securityContext.procMount | of_kinds(["Default"]) | not) | "procMount: \(.name)"),
    (security_contexts | select(.windowsOptions.hostProcess == true) | "hostProcess"),
    (security_contexts | select(.appArmorProfile.type | of_kinds(["RuntimeDefault", "Localhost"]) | not) | "AppArmor"),
    (.metadata.annotations // {} | to_entries[] | select((.key | startswith("container.apparmor.security.beta.kubernetes.io/")) and
        (.value | . == "runtime/default" or startswith("localhost/") | not)) | "AppArmor: \(.key)"),
    (security_contexts.seLinuxOptions | values | select((.user // "") != "" or (.role // "") != "" or
        (.type | of_kinds(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]) | not)) | "SELinux"),
    (.spec.securityContext.sysctls // [] | .[].name | select(of_kinds(["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
        "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]) |
        not) | "sysctl: \(.)");

def restricted:
    (.spec.volumes // [] | .[] | select(keys - ["name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
        "persistentVolumeClaim", "projected", "secret"] != []) | "volume: \(.name)"),
    (containers | select(.securityContext.allowPrivilegeEscalation != false) | "allowPrivilegeEscalation: \(.name)"),
    (security_contexts | select(.runAsNonRoot == false or .runAsUser == 0) | "run as root"),
    (select(.spec.securityContext.runAsNonRoot != true) | containers | select(.securityContext.runAsNonRoot != true) |
        "runAsNonRoot: \(.name)"),
    (security_contexts | select(.seccompProfile.type | of_kinds(["RuntimeDefault", "Localhost"]) | not) | "seccompProfile"),
    (select(.spec.securityContext.seccompProfile == null) | containers | select(.securityContext.seccompProfile == null) |
        "seccompProfile: \(.name)"),
    (containers | .name as $name | .securityContext.capabilities | select((.drop // [] | index("ALL") == null) or
        (.add // []) - ["NET_BIND_SERVICE"] != []) | "capabilities: \($name)");

def refused: [baseline, restricted];
