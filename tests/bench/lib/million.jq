# An SVG of three diagrams over the number of Tasks: memory, bytes of it for each Task, CPU time. Input: rows `million` of
# several sizes: jq -rs -L tests/bench/lib -f tests/bench/lib/million.jq FILE...
include "diagram";

def thousands: if . >= 1000000 then "\(. / 1000000) M" else "\(. / 1000) k" end;
def step($name): .steps[] | select(.step == $name);
add | sort_by(.frameworks * .tasks) as $rows | ($rows | map(.frameworks * .tasks | thousands)) as $xs
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"270\" font-family=\"sans-serif\" font-size=\"11\">"
+ "<rect width=\"960\" height=\"270\" fill=\"white\"/>"
+ diagram("Memory at rest, MB"; [{name: "watcher", color: "#1565c0", values: ($rows | map(step("cold").rest.watcher))},
    {name: "all", color: "#6a1b9a", values: ($rows | map(step("cold").rest_mb))}]; $xs; 0)
+ diagram("Bytes a Task at rest"; [{name: "", color: "#6a1b9a", values: ($rows | map(.bytes_each))}]; $xs; 315)
+ diagram("Cold start, s"; [{name: "CPU", color: "#c62828", values: ($rows | map(step("cold").cpu_rest_s))},
    {name: "synced", color: "#2e7d32", values: ($rows | map(step("cold").took_s[0]))}]; $xs; 630)
+ "<text x=\"480\" y=\"260\" text-anchor=\"middle\">Tasks, 10 in a Framework; watcher and \($rows[0].workers // 4) reconcilers on the"
    + " embedded API server</text></svg>"
