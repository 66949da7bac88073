# An SVG of three diagrams side by side over the number of reconcilers: throughput, latency, memory. Input: the rows.
include "diagram";

sort_by(.x) as $rows | ($rows | map(.x)) as $xs
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"270\" font-family=\"sans-serif\" font-size=\"11\">"
+ "<rect width=\"960\" height=\"270\" fill=\"white\"/>"
+ diagram("Tasks to running, per second"; [{name: "", color: "#1565c0", values: ($rows | map(.frameworks * .tasks / .wall_s))}]; $xs; 0)
+ diagram("Pod event to persisted status, ms"; [{name: "p50", color: "#2e7d32", values: ($rows | map(.latency_p50_ms))},
    {name: "p99", color: "#c62828", values: ($rows | map(.latency_p99_ms))}]; $xs; 315)
+ diagram("Peak PSS, MB"; [{name: "all", color: "#6a1b9a", values: ($rows | map(.peak_pss_mb))}]; $xs; 630)
+ "<text x=\"480\" y=\"260\" text-anchor=\"middle\">reconcilers; \($rows[0].frameworks) Frameworks × \($rows[0].tasks) Tasks on the"
    + " embedded API server</text></svg>"
