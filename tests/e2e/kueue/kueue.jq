# What Kueue does next with the Workloads of a list: lines of {path, status}, each a merge patch of a status. $quota: how
# many Pods its one ClusterQueue has place for. $now: the time. $checks: the admission checks of the ClusterQueue, as they
# are when they are Ready. Written from Kueue's documentation and API types (v1beta2).

def condition($type): [.status.conditions[]? | select(.type == $type)][0];
def is($type): (condition($type).status // "") == "True";
def set($type; $status; $reason; $message):
    [.[] | select(.type != $type)] + [{type: $type, status: $status, reason: $reason, message: $message, lastTransitionTime: $now}];
def active: .spec.active != false;
def pods: ([.spec.podSets[].count] | add) - ([.status.reclaimablePods[]?.count] | add // 0);
def patch($status): {path: "\(.metadata.namespace)/workloads/\(.metadata.name)/status", version: .metadata.resourceVersion, status: $status};
def conditions: .status.conditions // [];

def admit: patch({
    conditions: (conditions | set("QuotaReserved"; "True"; "QuotaReserved"; "Quota reserved in ClusterQueue cq") |
        set("Admitted"; "True"; "Admitted"; "The workload is admitted") |
        if any(.[]; .type == "Evicted") then set("Evicted"; "False"; "QuotaReserved"; "Previously evicted") else . end),
    admission: {clusterQueue: "cq", podSetAssignments: [.spec.podSets[] | {name, count, flavors: {cpu: "default"}}]},
    admissionChecks: [$checks[] | . + {lastTransitionTime: $now}]});

def wait($free):
    "couldn't assign flavors to pod set \(.spec.podSets[0].name): insufficient unused quota for pods in flavor default, \(pods - $free) more needed" as $why |
    if condition("QuotaReserved").message == $why then empty
    else patch({conditions: (conditions | set("QuotaReserved"; "False"; "Pending"; $why))}) end;

# Those that may come: not those that Kueue has put back and not let in again.
def candidate: active and .metadata.deletionTimestamp == null and (is("QuotaReserved") | not) and (is("Finished") | not) and
    ((is("Evicted") | not) or is("Requeued"));

[.items[] | select(is("Finished") | not)] as $all |
($quota - ([$all[] | select(is("QuotaReserved")) | pods] | add // 0)) as $free |
($all[] | select(active | not) | select(is("QuotaReserved") and (is("Evicted") | not)) |
    patch({conditions: (conditions | set("Evicted"; "True"; "Deactivated"; "The workload is deactivated"))})),
($all[] | select(active and is("Evicted") and (is("QuotaReserved") | not) and (is("Requeued") | not)) |
    patch({conditions: (conditions | set("Requeued"; "True"; "Reactivated"; "The workload was reactivated"))})),
([$all[] | select(candidate)] | sort_by(.metadata.creationTimestamp, .metadata.name) |
    reduce .[] as $workload ({free: $free, out: []};
        if ($workload | pods) <= .free then .free -= ($workload | pods) | .out += [$workload | admit]
        else .free as $now_free | .out += [$workload | wait($now_free)] end) | .out[])
