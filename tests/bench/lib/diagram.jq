# Diagrams in SVG, 240 wide: lines through values at equal distances.
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
