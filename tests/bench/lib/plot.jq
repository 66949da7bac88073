# An SVG of three diagrams side by side over the number of reconcilers: throughput, latency, memory. Input: the rows.
def round1: . * 10 | round / 10;
# A round number that is no less.
def ceiling: if . <= 0 then 1 else . as $v | pow(10; ($v | log10 | floor)) as $p
    | ([1, 2, 3, 4, 5, 6, 8, 10] | map(. * $p) | map(select(. >= $v * 0.999)) | first) end;
def line($points; $color; $name; $x0; $top):
    ($points | map("\($x0 + 60 + .i * 60),\(220 - 170 * .y / $top)")) as $at
    | "<polyline points=\"\($at | join(" "))\" fill=\"none\" stroke=\"\($color)\" stroke-width=\"2\"/>"
    + ([$points[] | "<circle cx=\"\($x0 + 60 + .i * 60)\" cy=\"\(220 - 170 * .y / $top)\" r=\"3\" fill=\"\($color)\"/>"
        + "<text x=\"\($x0 + 60 + .i * 60)\" y=\"\(212 - 170 * .y / $top)\" text-anchor=\"middle\">\(.y | round1)</text>"] | join(""))
    + "<text x=\"\($x0 + 64 + 60 * (($points | length) - 1))\" y=\"\(234 - 170 * $points[-1].y / $top)\""
        + " fill=\"\($color)\">\($name)</text>";
def diagram($title; $lines; $xs; $x0):
    ([$lines[].values[]] | max | ceiling) as $top
    | "<text x=\"\($x0 + 40)\" y=\"24\" font-weight=\"bold\">\($title)</text>"
    + "<path d=\"M\($x0 + 40) 40 V220 H\($x0 + 280)\" fill=\"none\" stroke=\"#888\"/>"
    + "<text x=\"\($x0 + 36)\" y=\"54\" text-anchor=\"end\">\($top)</text><text x=\"\($x0 + 36)\" y=\"224\" text-anchor=\"end\">0</text>"
    + ([range($xs | length) | "<text x=\"\($x0 + 60 + . * 60)\" y=\"238\" text-anchor=\"middle\">\($xs[.])</text>"] | join(""))
    + ([$lines[] | . as $l | line([range($l.values | length) | {i: ., y: $l.values[.]}]; $l.color; $l.name; $x0; $top)] | join(""));

sort_by(.x) as $rows | ($rows | map(.x)) as $xs
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"270\" font-family=\"sans-serif\" font-size=\"11\">"
+ "<rect width=\"960\" height=\"270\" fill=\"white\"/>"
+ diagram("Tasks to running, per second"; [{name: "", color: "#1565c0", values: ($rows | map(.frameworks * .tasks / .wall_s))}]; $xs; 0)
+ diagram("Pod event to persisted status, ms"; [{name: "p50", color: "#2e7d32", values: ($rows | map(.latency_p50_ms))},
    {name: "p99", color: "#c62828", values: ($rows | map(.latency_p99_ms))}]; $xs; 315)
+ diagram("Peak PSS, MB"; [{name: "all", color: "#6a1b9a", values: ($rows | map(.peak_pss_mb))}]; $xs; 630)
+ "<text x=\"480\" y=\"260\" text-anchor=\"middle\">reconcilers; \($rows[0].frameworks) Frameworks × \($rows[0].tasks) Tasks on the"
    + " embedded API server</text></svg>"
